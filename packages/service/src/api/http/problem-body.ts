import { PriorbookError } from '@priorbook/sdk/domain'
import { Problem, PROBLEMS, type ProblemCode } from '@priorbook/sdk/wire'
import { redactKeys } from '../auth/key-text.ts'

/** Where the docs explain a problem. */
export function problemType(code: ProblemCode): string {
  return `/docs/errors#${code}`
}

/** The body of `application/problem+json` (RFC 9457); no key that was sent comes back in it. */
export function toProblemBody(problem: Problem, requestId: string): string {
  const { status, title } = PROBLEMS[problem.code]
  const { param, allowed, hint, plan, limit, retryAfter } = problem.fields
  return redactKeys(
    JSON.stringify({
      type: problemType(problem.code),
      title,
      status,
      detail: problem.message,
      code: problem.code,
      request_id: requestId,
      param,
      allowed,
      hint,
      plan,
      limit,
      retry_after: retryAfter,
    }),
  )
}

/** What a failure means to the caller; undefined for one that nobody foresaw. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof PriorbookError) {
    switch (error.code) {
      case 'invalid_decimal':
      case 'unrepresentable':
      case 'invalid_time':
      case 'invalid_id':
        return new Problem('invalid_parameter', error.message)
      case 'unknown_market':
        return new Problem('unknown_market', error.message)
      case 'corrupt_chunk':
      case 'corrupt_row':
      case 'corrupt_journal':
      case 'corrupt_database':
      case 'unsupported_format':
      case 'newer_schema':
      case 'store_locked':
      case 'disk_full':
      case 'store_unavailable':
      case 'store_closed':
        return unavailable()
      default:
        return undefined
    }
  }
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_SQLITE_ERROR'
    ? unavailable()
    : undefined
}

// What is wrong with the store is for its operator's log.
function unavailable(): Problem {
  return new Problem('store_unavailable', 'the store could not be read; try again soon', {
    retryAfter: 1,
  })
}
