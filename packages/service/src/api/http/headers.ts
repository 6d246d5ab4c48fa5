import type { Admission } from '../auth/limiter.ts'
import type { Deprecation, Writes } from '@priorbook/sdk/wire'
import type { LimitState } from '../route.ts'

/** Headers of every answer, as a flat list; pages of `corsOrigin`, if any, may read answers. */
export function commonHeaders(corsOrigin: string | undefined): readonly string[] {
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
    'Accept-Ranges, Content-Range, Deprecation, ETag, Link, Priorbook-Gaps, Priorbook-Notice, Priorbook-Receipt, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Request-Id',
  ]
}

/** The headers of a route that will be removed, by RFC 9745 and RFC 8594. */
export function deprecationHeaders({ since, sunset, link }: Deprecation): readonly string[] {
  const start = Date.parse(`${since}T00:00:00Z`) / 1000
  const end = new Date(`${sunset}T00:00:00Z`).toUTCString()
  return ['Deprecation', `@${start}`, 'Sunset', end, 'Link', `<${link}>; rel="deprecation"`]
}

/** The policy of data: browsers must run nothing in them. */
export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** The policy of pages: nothing from other hosts; each page names its own script in a stricter policy. */
export const PAGE_POLICY =
  "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'; base-uri 'none'"

/** The answer to a preflight request from a page of the allowed origin. */
export const PREFLIGHT_HEADERS: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD, OPTIONS, POST, DELETE',
  'Access-Control-Allow-Headers',
  'Authorization, Accept, Content-Type, If-None-Match',
  'Access-Control-Max-Age',
  '86400',
]

/** The methods of all routes; some take more. */
export const ALLOW = 'GET, HEAD, OPTIONS'

/** The methods of one route. */
export function allowOf({ writes = {} }: { readonly writes?: Writes }): string {
  return [ALLOW, ...Object.keys(writes)].join(', ')
}

/** For answers that can never change: cached by the client alone, because they need a key. */
export const FOR_EVER = 'private, max-age=31536000, immutable'

/** `RateLimit-Policy` and `RateLimit` of the IETF draft; `t` is when the oldest request leaves the window. */
export function limitHeaders({ limits }: Admission, nowMs: number): string[] {
  const policies = limits.map(({ name, quota, seconds }) => `"${name}";q=${quota};w=${seconds}`)
  const states = limits.map((limit) => stateText(limit, nowMs))
  return ['RateLimit-Policy', policies.join(', '), 'RateLimit', states.join(', ')]
}

function stateText({ name, remaining, resetMs }: LimitState, nowMs: number): string {
  return `"${name}";r=${remaining};t=${secondsUntil(resetMs, nowMs)}`
}

// Whole seconds until a time, rounded up; 0 when it has passed.
function secondsUntil(timeMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((timeMs - nowMs) / 1000))
}
