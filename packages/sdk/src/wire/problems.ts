import { COUNT, described, listOf, named, NUMBER, objectOf, TEXT, wordOf } from './json-schema.ts'

/** Every error that the REST interface answers with: status and one plain sentence. */
export const PROBLEMS = {
  invalid_parameter: { status: 400, title: 'A parameter has a value that cannot be used.' },
  unknown_parameter: { status: 400, title: 'The route does not know this parameter.' },
  invalid_cursor: { status: 400, title: 'The cursor was changed or belongs to another request.' },
  invalid_range: { status: 400, title: 'The time range is empty or inverted.' },
  missing_key: { status: 401, title: 'The request carries no API key.' },
  invalid_key: { status: 401, title: 'The API key is not known.' },
  revoked_key: { status: 401, title: 'The API key was revoked.' },
  expired_key: { status: 401, title: 'The API key has expired.' },
  plan_required: { status: 403, title: 'The plan of the key does not include this.' },
  unknown_market: { status: 404, title: 'No market with this identifier has been recorded.' },
  unknown_event: { status: 404, title: 'No event with this identifier has been recorded.' },
  unknown_contract: { status: 404, title: 'No market of this contract has been recorded.' },
  unknown_asset: { status: 404, title: 'No markets of this asset are recorded.' },
  unknown_alert: { status: 404, title: 'The key has no alert with this identifier.' },
  unknown_row: { status: 404, title: 'No row with this identifier is stored.' },
  unknown_route: { status: 404, title: 'There is no such route.' },
  method_not_allowed: { status: 405, title: 'The route does not take this method.' },
  not_acceptable: { status: 406, title: 'The route cannot answer in the format asked for.' },
  request_timeout: { status: 408, title: 'The request took too long to arrive.' },
  body_too_large: {
    status: 413,
    title: 'The request has a body that is too large, or that the route does not take.',
  },
  uri_too_long: { status: 414, title: 'The address is too long.' },
  range_not_satisfiable: { status: 416, title: 'The file has no byte of the range.' },
  upgrade_required: { status: 426, title: 'The address is that of a WebSocket.' },
  rate_limited: { status: 429, title: 'The rate limit of the key is used up.' },
  headers_too_large: { status: 431, title: 'The header is too large.' },
  not_implemented: { status: 501, title: 'The server cannot do this.' },
  internal_error: { status: 500, title: 'Something went wrong here; it has been logged.' },
  busy: { status: 503, title: 'There is no room for this request right now.' },
  store_unavailable: { status: 503, title: 'The store cannot be read right now.' },
} as const

/** The name of one problem. */
export type ProblemCode = keyof typeof PROBLEMS

/** Details that a problem may carry. */
export type ProblemFields = {
  /** The parameter that is wrong, what it may be, and what to do. */
  readonly param?: string
  readonly allowed?: readonly string[]
  readonly hint?: string
  /** The plan that includes it. */
  readonly plan?: string
  /** Which limit is used up, and after how many seconds to retry. */
  readonly limit?: string
  readonly retryAfter?: number
}

/** A request that cannot be answered as asked; the server turns it into `application/problem+json`. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly fields: ProblemFields

  constructor(code: ProblemCode, detail: string, fields: ProblemFields = {}) {
    super(detail)
    this.name = 'Problem'
    this.code = code
    this.fields = fields
  }
}

/** Where the docs explain a problem: the `type` of its answer. */
export function problemType(code: ProblemCode): string {
  return `/docs/errors#${code}`
}

/** The schema of a problem, RFC 9457. */
export const PROBLEM_SCHEMA = named(
  'Problem',
  objectOf(
    {
      type: described(TEXT, 'Where the docs explain it.'),
      title: TEXT,
      status: COUNT,
      detail: TEXT,
      code: named('ProblemCode', wordOf(Object.keys(PROBLEMS) as ProblemCode[])),
      request_id: TEXT,
      param: described(TEXT, 'The parameter that is wrong.'),
      allowed: described(listOf(TEXT), 'What it may be.'),
      hint: described(TEXT, 'What to do.'),
      plan: described(TEXT, 'The plan that includes it.'),
      limit: described(TEXT, 'The limit that is used up.'),
      retry_after: described(NUMBER, 'Seconds.'),
    },
    {
      optional: ['param', 'allowed', 'hint', 'plan', 'limit', 'retry_after'],
      description: 'An error, as RFC 9457 has it.',
    },
  ),
)

/**
 * Errors that only the stream has, each with its sentence; it also uses those of the REST interface
 * (`PROBLEMS`), with the same meaning.
 */
export const STREAM_ERRORS = {
  malformed_message: 'The message is not a text frame with one JSON object.',
  message_too_large: 'The message is larger than 64 KiB.',
  unknown_op: 'The stream has no such operation.',
  already_authenticated: 'The connection is already authenticated.',
  auth_timeout: 'The client did not authenticate in time.',
  duplicate_id: 'The connection already has a subscription or replay with this id.',
  unknown_id: 'The connection has no subscription or replay with this id.',
  already_subscribed: 'Another subscription of the connection already includes this instrument.',
  too_many_connections: 'The key already has the maximum number of connections of its plan.',
  too_many_subscriptions:
    'The connection already has the maximum number of subscriptions of the plan.',
  too_many_instruments: 'The connection would have more instruments than the plan allows.',
  too_many_replays: 'The connection already has the maximum number of replays of the plan.',
  flooding: 'The client sends messages faster than the server processes them.',
  slow_reader: 'The client did not read the connection for too long.',
} as const

/** The code of such an error. */
export type StreamErrorCode = keyof typeof STREAM_ERRORS
