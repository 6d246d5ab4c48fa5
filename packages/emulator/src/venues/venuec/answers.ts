import type { Payload, UpstreamAnswer } from '../../core/upstream.ts'

/** An answer with data, billed to a quota. */
export function good(
  value: unknown,
  bucket: string,
  payloads: readonly Payload[] = [],
): UpstreamAnswer {
  return { status: 200, body: JSON.stringify(value), headers: JSON_TYPE, bucket, payloads }
}

/** An answer with data that is already JSON. */
export function goodText(
  body: string,
  bucket: string,
  payloads: readonly Payload[],
): UpstreamAnswer {
  return { status: 200, body, headers: JSON_TYPE, bucket, payloads }
}

/** An error answer, in the form of the service that rejects the request. */
export function failed(status: number, body: object, bucket: string): UpstreamAnswer {
  return { status, body: JSON.stringify(body), headers: JSON_TYPE, bucket }
}

/** The venue's limits: calls per sliding 10 s. The venue throttles; the emulator refuses. */
export const QUOTAS = {
  default: { limit: 15_000, windowMs: 10_000 },
  gamma: { limit: 4_000, windowMs: 10_000 },
  gamma_markets: { limit: 300, windowMs: 10_000 },
  gamma_events: { limit: 500, windowMs: 10_000 },
  gamma_search: { limit: 350, windowMs: 10_000 },
  clob: { limit: 9_000, windowMs: 10_000 },
  book: { limit: 1_500, windowMs: 10_000 },
  books: { limit: 500, windowMs: 10_000 },
  price: { limit: 1_500, windowMs: 10_000 },
  midpoint: { limit: 1_500, windowMs: 10_000 },
  prices_history: { limit: 1_000, windowMs: 10_000 },
  data: { limit: 1_000, windowMs: 10_000 },
  data_trades: { limit: 200, windowMs: 10_000 },
  tick_size: { limit: 200, windowMs: 10_000 },
} as const

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' } as const
