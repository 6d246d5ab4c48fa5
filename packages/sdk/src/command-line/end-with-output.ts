const FAILED_STATUS = 1

/**
 * Ends the process when its standard output cannot be written: with status 0 where the reader stopped early, such as
 * `head`, and otherwise with the reason and status 1. Returns a function that ends the watch.
 */
export function endWithOutput(program: string): () => void {
  const onError = ({ code, message }: NodeJS.ErrnoException): void => {
    if (code === 'EPIPE') process.exit(0)
    const why = code === 'ENOSPC' ? 'the disk is full' : message
    process.stderr.write(`${program}: standard output cannot be written: ${why}\n`)
    process.stderr.write('Free some space, or send the output to another place.\n')
    process.exit(FAILED_STATUS)
  }
  process.stdout.on('error', onError)
  return () => void process.stdout.off('error', onError)
}
