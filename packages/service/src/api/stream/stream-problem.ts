import { Problem, STREAM_ERRORS, type StreamErrorCode } from '@priorbook/sdk/wire'
import { redactKeys } from '../auth/key-text.ts'
import { toProblem } from '../http/problem.ts'

/** An error that only the stream has, such as an unknown operation. */
export class StreamProblem extends Error {
  readonly code: StreamErrorCode
  readonly hint: string | undefined

  constructor(code: StreamErrorCode, detail: string = STREAM_ERRORS[code], hint?: string) {
    super(detail)
    this.name = 'StreamProblem'
    this.code = code
    this.hint = hint
  }
}

/** The `error` message for an expected error, with keys redacted; undefined for an unexpected one. */
export function toErrorMessage(error: unknown, id?: string): string | undefined {
  const problem = error instanceof StreamProblem ? error : toProblem(error)
  if (problem === undefined) return undefined
  const hint = problem instanceof Problem ? problem.fields.hint : problem.hint
  const more =
    problem instanceof Problem
      ? { param: problem.fields.param, allowed: problem.fields.allowed, plan: problem.fields.plan }
      : {}
  return redactKeys(
    JSON.stringify({
      type: 'error',
      code: problem.code,
      message: problem.message,
      id,
      hint,
      ...more,
    }),
  )
}
