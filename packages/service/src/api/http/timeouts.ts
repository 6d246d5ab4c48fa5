/** How long the server waits, in milliseconds. */
export type Timeouts = {
  /** For the whole header, and for the whole request. */
  readonly headersMs: number
  readonly requestMs: number
  /** How often slow requests are looked for. */
  readonly checkMs: number
  readonly keepAliveMs: number
  /** For a socket on which nothing moves. */
  readonly idleMs: number
}

/** What holds unless somebody says otherwise. */
export const TIMEOUTS: Timeouts = {
  headersMs: 10_000,
  requestMs: 15_000,
  checkMs: 500,
  keepAliveMs: 30_000,
  idleMs: 60_000,
}
