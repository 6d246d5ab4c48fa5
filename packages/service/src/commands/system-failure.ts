import type { Explained } from '@priorbook/sdk/command-line'

/** Explains an error of the system about a file or folder; undefined for other errors. */
export function explainSystem(error: unknown): Explained | undefined {
  const { code, path, syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (typeof code !== 'string' || syscall === undefined) return undefined
  const file = path ?? 'the data folder'
  const failed = (message: string, hint: string): Explained => ({
    exit: 'failed',
    status: 1,
    message,
    hint,
    code,
  })
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS': {
      const hint = 'Check its owner and its mount, or name another folder with --data DIR.'
      return failed(`${file} cannot be written or read by this user`, hint)
    }
    case 'ENOTDIR':
    case 'EEXIST':
      return failed(`${file} is not a folder`, 'Name a folder with --data DIR.')
    case 'ENOENT':
      if (syscall !== 'mkdir') return undefined
      return failed(`${file} cannot be made: no folder can be there`, 'Name another folder.')
    case 'ENOSPC':
    case 'EDQUOT':
      return failed('the disk is full', 'Free some space and run the command again.')
    case 'EMFILE':
    case 'ENFILE':
      return failed('too many files are open', 'Raise the limit of open files (ulimit -n).')
    default:
      return undefined
  }
}
