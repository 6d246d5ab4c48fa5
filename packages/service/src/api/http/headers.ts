import type { Admission } from '../auth/limiter.ts'
import type { LimitState } from '../route.ts'

/** Pages of other origins that may read answers; undefined for none. */
export type CorsOrigin = string | undefined

/** Headers of every answer, as a flat list of names and values. */
export function commonHeaders(corsOrigin: CorsOrigin): readonly string[] {
  const headers = [
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    'X-Frame-Options',
    'DENY',
    'Cross-Origin-Resource-Policy',
    corsOrigin === undefined ? 'same-origin' : 'cross-origin',
    'Vary',
    `Accept, Accept-Encoding, Authorization${corsOrigin === undefined ? '' : ', Origin'}`,
  ]
  if (corsOrigin === undefined) return headers
  return [
    ...headers,
    'Access-Control-Allow-Origin',
    corsOrigin,
    'Access-Control-Expose-Headers',
    'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  ]
}

/** Answers are data, not pages: nothing in them may run. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** Pages say in themselves which script may run; nothing comes from other hosts. */
export const PAGE_POLICY =
  "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'; base-uri 'none'"

/** What a browser may send from a page of an allowed origin. */
export const PREFLIGHT_HEADERS: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers',
  'Authorization, Accept, If-None-Match',
  'Access-Control-Max-Age',
  '86400',
]

/** The methods that routes take. */
export const ALLOW = 'GET, HEAD, OPTIONS'

/** Cached for ever by the client alone, because nothing in the answer can change. */
export const FOR_EVER = 'private, max-age=31536000, immutable'

/** `RateLimit-Policy` and `RateLimit` of the draft of the IETF; `t` is when the oldest request leaves. */
export function limitHeaders({ limits }: Admission, nowMs: number): string[] {
  const policies = limits.map(({ name, quota, seconds }) => `"${name}";q=${quota};w=${seconds}`)
  const states = limits.map((limit) => stateText(limit, nowMs))
  return ['RateLimit-Policy', policies.join(', '), 'RateLimit', states.join(', ')]
}

function stateText({ name, remaining, resetMs }: LimitState, nowMs: number): string {
  return `"${name}";r=${remaining};t=${secondsUntil(resetMs, nowMs)}`
}

/** Whole seconds until a time, at least one while it lies ahead. */
export function secondsUntil(timeMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((timeMs - nowMs) / 1000))
}
