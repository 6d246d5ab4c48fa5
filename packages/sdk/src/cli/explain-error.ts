import { PriorbookApiError, PriorbookClientError, PriorbookStreamError } from '../client/index.ts'
import { PriorbookError } from '../domain/index.ts'
import { CliError, type ExitWord } from './exit-codes.ts'

/** What went wrong in plain words, what to do, and the exit status. */
export type Explained = {
  readonly exit: ExitWord
  readonly message: string
  readonly hint: string | undefined
  readonly code: string | undefined
  readonly requestId: string | undefined
}

/** Explains a failure. No text contains the key, because no error of the client does. */
export function explainError(error: unknown, url: string): Explained {
  const plain = { hint: undefined, code: undefined, requestId: undefined }
  if (error instanceof CliError) {
    return { ...plain, exit: error.exit, message: error.message, hint: error.hint }
  }
  if (error instanceof PriorbookApiError) return explainApi(error)
  if (error instanceof PriorbookStreamError) {
    const { reason, message, errorCode: code = reason } = error
    const hint = ADVICE[code] ?? error.hint
    return { ...plain, exit: exitOfReason(reason), message, code, hint }
  }
  if (error instanceof PriorbookClientError) {
    const { code, message } = error
    switch (code) {
      case 'network_failed':
      case 'timed_out': {
        const hint = `Is the service running at ${url}? Name another one with --url or PRIORBOOK_URL.`
        return { ...plain, exit: 'unreachable', message, code, hint }
      }
      case 'bad_answer': {
        const hint = `${url} may be another service, or a proxy in between.`
        return { ...plain, exit: 'unreachable', message, code, hint }
      }
      case 'incomplete_walk':
      case 'incomplete_file':
      case 'incomplete_replay':
        return { ...plain, exit: 'incomplete', message, code, hint: 'Run the command again.' }
      case 'stream_refused':
        return { ...plain, exit: 'refused', message, code }
      case 'invalid_option':
        return { ...plain, exit: 'usage', message, code }
    }
  }
  if (error instanceof PriorbookError) {
    const { code, message } = error
    return { ...plain, exit: DAMAGE.has(code) ? 'incomplete' : 'usage', message, code }
  }
  return explainOther(error)
}

function explainApi(error: PriorbookApiError): Explained {
  const { code, status, message, requestId } = error
  const allowed = error.allowed === undefined ? undefined : `One of ${error.allowed.join(', ')}.`
  // Hints of the server name headers; on the command line options are the remedy.
  const hint = ADVICE[code] ?? error.hint ?? allowed
  const more = { message, code, requestId, hint }
  if (status === 401 || status === 403) return { ...more, exit: 'refused' }
  if (status === 404) return { ...more, exit: 'not_found' }
  if (status === 429 || status >= 500 || status === 408) return { ...more, exit: 'unreachable' }
  return { ...more, exit: 'usage' }
}

const ADVICE: Readonly<Record<string, string>> = {
  missing_key:
    'Set PRIORBOOK_KEY to your key, or add --demo to read demonstration data without one.',
  invalid_key: 'Look for a missing or a changed letter in PRIORBOOK_KEY.',
  revoked_key: 'Ask the operator for a new key.',
  expired_key: 'Ask the operator for a new key.',
  rate_limited: 'Wait a little; priorbook whoami shows the limits of the key.',
}

const DAMAGE = new Set<string>(['corrupt_chunk', 'corrupt_row', 'truncated_file', 'invalid_line'])
const NOT_FOUND = new Set(['unknown_market', 'unknown_asset'])
const REFUSED = new Set(['unauthenticated', 'plan_required', 'revoked', 'auth_timeout'])

function exitOfReason(reason: string): ExitWord {
  if (NOT_FOUND.has(reason)) return 'not_found'
  if (REFUSED.has(reason) || reason.startsWith('too_many')) return 'refused'
  return reason.startsWith('invalid') || reason.startsWith('unknown') ? 'usage' : 'unreachable'
}

function explainOther(error: unknown): Explained {
  const plain = { code: undefined, requestId: undefined }
  const message = error instanceof Error ? error.message : String(error)
  const { code, path } = (error ?? {}) as { readonly code?: unknown; readonly path?: unknown }
  const file = typeof path === 'string' ? path : 'the file'
  switch (code) {
    case 'ENOENT':
      return { ...plain, exit: 'not_found', message: `there is no ${file}`, hint: undefined }
    case 'EACCES':
    case 'EPERM':
    case 'EROFS': {
      const hint = 'Choose another place with --output.'
      return { ...plain, exit: 'failed', message: `${file} cannot be written or read`, hint }
    }
    case 'ENOSPC': {
      const hint = 'Free some space and run the command again: it continues where it stopped.'
      return { ...plain, exit: 'failed', message: 'the disk is full', hint }
    }
    case 'EISDIR':
      return { ...plain, exit: 'usage', message: `${file} is a folder`, hint: undefined }
    default:
      return { ...plain, exit: 'failed', message, hint: undefined }
  }
}
