import { PROBLEMS, type Problem } from '@priorbook/sdk/wire'
import { toProblemBody } from './problem-body.ts'

/** A whole HTTP answer as text, for sockets that no response object belongs to; they close after it. */
export function toProblemResponse(problem: Problem, requestId: string): string {
  const body = toProblemBody(problem, requestId)
  const { status } = PROBLEMS[problem.code]
  const { retryAfter } = problem.fields
  return [
    `HTTP/1.1 ${status} ${problem.code}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
