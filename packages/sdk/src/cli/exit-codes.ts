/** What the exit status of `priorbook` means; `docs/guide/cli.md` shows the same table. */
export const EXIT_CODES = {
  ok: { status: 0, about: 'Done.' },
  failed: { status: 1, about: 'Something unexpected went wrong.' },
  usage: { status: 2, about: 'A command, option or parameter is wrong.' },
  refused: {
    status: 3,
    about: 'The key is missing or not valid, or its plan does not include this.',
  },
  not_found: { status: 4, about: 'No such market, row or file.' },
  unreachable: { status: 5, about: 'The server cannot be reached, is busy, or failed.' },
  incomplete: { status: 6, about: 'Data are missing or damaged: a proof or a check failed.' },
  empty: { status: 7, about: 'The request is fine, but nothing is there; the reason was printed.' },
  interrupted: { status: 130, about: 'Stopped by Ctrl-C.' },
} as const

/** The name of an exit status. */
export type ExitWord = keyof typeof EXIT_CODES

/** A failure with the status that the program ends with, and what to do about it. */
export class CliError extends Error {
  readonly exit: ExitWord
  readonly hint: string | undefined

  constructor(exit: ExitWord, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliError'
    this.exit = exit
    this.hint = hint
  }
}
