const FAILED_STATUS = 1

/** The status of a program whose reader stopped early: what a shell shows for one that SIGPIPE ended. */
export const UNREAD_STATUS = 141

/**
 * Ends the process when its standard output cannot be written: quietly with status 141 where the reader stopped early,
 * such as `head`, because the work was cut, and otherwise with the reason and status 1. Returns a function that ends
 * the watch.
 */
export function endWithOutput(program: string): () => void {
  const onError = ({ code, message }: NodeJS.ErrnoException): void => {
    if (code === 'EPIPE') process.exit(UNREAD_STATUS)
    const why = code === 'ENOSPC' ? 'the disk is full' : message
    process.stderr.write(`${program}: standard output cannot be written: ${why}\n`)
    process.stderr.write('Free some space, or send the output to another place.\n')
    process.exit(FAILED_STATUS)
  }
  process.stdout.on('error', onError)
  return () => void process.stdout.off('error', onError)
}
