import type { ProblemFields } from '../wire/index.ts'

/** Every failure that the client itself detects, with one plain sentence. */
export const CLIENT_ERRORS = {
  network_failed:
    'The server could not be reached, or the connection broke, and retries did not help.',
  timed_out: 'The server took longer than the time allowed, and retries did not help.',
  bad_answer: 'The answer is not what the interface promises.',
  incomplete_walk: 'The rows that arrived are not the rows that the receipt lists.',
  incomplete_file: 'A file ends early, or its bytes are not those that were announced.',
  stream_refused: 'The server closed the stream and would close it again.',
  incomplete_replay: 'The rows of a replay are not those that the server says it sent.',
  invalid_option: 'An option of the client has a value that cannot be used.',
} as const

/** The code of such a failure. */
export type ClientErrorCode = keyof typeof CLIENT_ERRORS

/** A failure that the client detected; programs switch on `code`. */
export class PriorbookClientError extends Error {
  readonly code: ClientErrorCode

  constructor(code: ClientErrorCode, detail: string, options?: ErrorOptions) {
    super(detail === '' ? CLIENT_ERRORS[code] : detail, options)
    this.name = 'PriorbookClientError'
    this.code = code
  }
}

/** What the server said is wrong with a request: the fields of its problem document (RFC 9457). */
export class PriorbookApiError extends Error {
  /** Such as `unknown_market`; `docs/reference/errors.md` lists them. */
  readonly code: string
  readonly status: number
  readonly title: string
  /** The parameter that is wrong, what it may be, and what to do. */
  readonly param: string | undefined
  readonly allowed: readonly string[] | undefined
  readonly hint: string | undefined
  /** The plan that includes it, or the limit that is used up. */
  readonly plan: string | undefined
  readonly limit: string | undefined
  /** Seconds. */
  readonly retryAfter: number | undefined
  /** Names the request in the log of the service. */
  readonly requestId: string | undefined

  constructor(
    problem: ProblemFields & {
      readonly code: string
      readonly status: number
      readonly title: string
      readonly detail: string
      readonly requestId?: string | undefined
    },
  ) {
    super(problem.detail)
    this.name = 'PriorbookApiError'
    this.code = problem.code
    this.status = problem.status
    this.title = problem.title
    this.param = problem.param
    this.allowed = problem.allowed
    this.hint = problem.hint
    this.plan = problem.plan
    this.limit = problem.limit
    this.retryAfter = problem.retryAfter
    this.requestId = problem.requestId
  }
}

/** The rows of a walk, by instrument. */
export type WalkCount = {
  readonly rows: number
  readonly instruments: readonly {
    /** The part of a row id between venue and sequence. */
    readonly key: string
    /** The lowest and the highest sequence. */
    readonly first: number
    readonly last: number
    readonly rows: number
  }[]
  /** The first row whose sequence does not follow the order of the walk, if any. */
  readonly disorder?: string | undefined
}

/** The rows that arrived are not those of the receipt. */
export class IncompleteWalkError extends PriorbookClientError {
  readonly expected: WalkCount
  readonly received: WalkCount

  constructor(difference: string, expected: WalkCount, received: WalkCount) {
    super('incomplete_walk', difference)
    this.name = 'IncompleteWalkError'
    this.expected = expected
    this.received = received
  }
}
