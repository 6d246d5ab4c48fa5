import { PriorbookApiError, PriorbookClientError, PriorbookStreamError } from '../client/index.ts'
import { UNREAD_STATUS, UsageError, type Explained } from '../command-line/index.ts'
import { PriorbookError } from '../domain/index.ts'

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
  unread: {
    status: UNREAD_STATUS,
    about: 'The reader of the output, such as head, stopped first.',
  },
} as const

/** The name of an exit status. */
export type ExitWord = keyof typeof EXIT_CODES

/** A failure with the status that the program ends with, and what to do about it; wrong calls throw `UsageError`. */
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

/** Explains a failure. No text contains the key, because no error of the client does. */
export function explainError(error: unknown, url: string): Explained {
  if (error instanceof CliError || error instanceof UsageError) {
    return explained(error.exit, error.message, error.hint)
  }
  if (error instanceof PriorbookApiError) return explainApi(error)
  if (error instanceof PriorbookStreamError) {
    const { reason, message, errorCode: code = reason } = error
    const hint = ADVICE[code] ?? error.hint
    return explained(exitOfReason(reason), message, hint, code)
  }
  if (error instanceof PriorbookClientError) {
    const { code, message } = error
    switch (code) {
      case 'network_failed':
      case 'timed_out': {
        const hint = PLAIN_ANSWER.test(message)
          ? `${url} does not answer with TLS; try ${url.replace(/^https/i, 'http')} as --url or PRIORBOOK_URL.`
          : `Is the service running at ${url}? Name another one with --url or PRIORBOOK_URL.`
        return explained('unreachable', message, hint, code)
      }
      case 'bad_answer': {
        const hint = `${url} may be another service, or a proxy in between.`
        return explained('unreachable', message, hint, code)
      }
      case 'incomplete_walk':
      case 'incomplete_file':
      case 'incomplete_replay':
        return explained('incomplete', message, 'Run the command again.', code)
      case 'stream_refused':
        return explained('refused', message, undefined, code)
      case 'invalid_option':
        return explained('usage', message, undefined, code)
    }
  }
  if (error instanceof PriorbookError) {
    const { code, message } = error
    return explained(DAMAGE.has(code) ? 'incomplete' : 'usage', message, undefined, code)
  }
  return explainOther(error)
}

function explainApi(error: PriorbookApiError): Explained {
  const { code, status, message, requestId } = error
  const allowed = error.allowed === undefined ? undefined : `One of ${error.allowed.join(', ')}.`
  // Hints of the server name headers; on the command line options are the remedy.
  const hint = ADVICE[code] ?? error.hint ?? allowed
  const is = (exit: ExitWord): Explained => ({ ...explained(exit, message, hint, code), requestId })
  if (status === 401 || status === 403) return is('refused')
  if (status === 404) return is('not_found')
  return is(status === 429 || status >= 500 || status === 408 ? 'unreachable' : 'usage')
}

const ADVICE: Readonly<Record<string, string>> = {
  missing_key:
    'Set PRIORBOOK_KEY to your key, or add --demo to read demonstration data without one.',
  invalid_key:
    'Compare the key of PRIORBOOK_KEY or --key with the one that this service showed when it was created.',
  revoked_key: 'Ask the operator for a new key.',
  expired_key: 'Ask the operator for a new key.',
  rate_limited: 'Wait a little; priorbook whoami shows the limits of the key.',
}

// What OpenSSL says of a first byte that is not of TLS.
const PLAIN_ANSWER = /wrong version number|packet length too long/

const DAMAGE = new Set<string>(['corrupt_chunk', 'corrupt_row', 'truncated_file', 'invalid_line'])
const NOT_FOUND = new Set(['unknown_market', 'unknown_asset'])
const REFUSED = new Set(['unauthenticated', 'plan_required', 'revoked', 'auth_timeout'])

function exitOfReason(reason: string): ExitWord {
  if (NOT_FOUND.has(reason)) return 'not_found'
  if (REFUSED.has(reason) || reason.startsWith('too_many')) return 'refused'
  return reason.startsWith('invalid') || reason.startsWith('unknown') ? 'usage' : 'unreachable'
}

function explainOther(error: unknown): Explained {
  const { code, path } = (error ?? {}) as { readonly code?: unknown; readonly path?: unknown }
  const file = typeof path === 'string' ? path : 'the file'
  switch (code) {
    case 'ENOENT':
      return explained('not_found', `there is no ${file}`)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS': {
      const hint = 'Choose a place that you may write to, or change its rights.'
      return explained('failed', `${file} cannot be written or read`, hint)
    }
    case 'ENOSPC': {
      const hint = 'Free some space and run the command again: it continues where it stopped.'
      return explained('failed', 'the disk is full', hint)
    }
    case 'EISDIR':
      return explained('usage', `${file} is a folder`)
    default:
      return explained('failed', error instanceof Error ? error.message : String(error))
  }
}

function explained(exit: ExitWord, message: string, hint?: string, code?: string): Explained {
  return { exit, status: EXIT_CODES[exit].status, message, hint, code }
}
