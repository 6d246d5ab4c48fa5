import type { Refusal, UpstreamAnswer } from '../../core/upstream.ts'

/** A refusal in the form of the venue: a negative code and a sentence. */
export function refuse(status: number, code: number, msg: string): UpstreamAnswer {
  return { status, body: JSON.stringify({ code, msg }), headers: JSON_TYPE }
}

/** The answer to a call beyond the quota of 60 a minute (weight 200 of 12,000). */
export function tooManyRequests(retryAfterSeconds?: number): UpstreamAnswer {
  const answer = refuse(
    429,
    -1003,
    'Too much request weight used; current limit is 12000 request weight per 1 MINUTE. ' +
      'Please use WebSocket Streams for live updates to avoid polling the API.',
  )
  if (retryAfterSeconds === undefined) return answer
  return { ...answer, headers: { ...JSON_TYPE, 'retry-after': String(retryAfterSeconds) } }
}

/** The venue's own messages for injected refusals. */
export function refusalOf(why: Refusal): UpstreamAnswer {
  switch (why) {
    case 'quota':
      return tooManyRequests()
    case 'outage':
      return refuse(503, -1001, 'Internal error; unable to process your request. Please try again.')
    case 'signature':
      return staleTimestamp()
  }
}

/** The answer to a signature that has expired. */
export function staleTimestamp(): UpstreamAnswer {
  return refuse(400, -1021, 'Timestamp for this request is outside of the recvWindow.')
}

/** A required parameter is missing. */
export function missing(parameter: string): UpstreamAnswer {
  return refuse(
    400,
    -1102,
    `Mandatory parameter '${parameter}' was not sent, was empty/null, or malformed.`,
  )
}

/** A parameter's value is unknown or out of bounds. */
export function invalid(parameter: string): UpstreamAnswer {
  return refuse(400, -1130, `Data sent for parameter '${parameter}' is not valid.`)
}

/** The content type of every answer of the venue. */
export const JSON_TYPE = { 'content-type': 'application/json;charset=UTF-8' } as const
