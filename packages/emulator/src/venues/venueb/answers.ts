import type { Payload, UpstreamAnswer } from '../../core/upstream.ts'

/** Every request costs this many tokens, batches as many per item. */
export const COST = 10

/** An answer with data. */
export function good(value: unknown, payloads: readonly Payload[] = []): UpstreamAnswer {
  return { status: 200, body: JSON.stringify(value), cost: COST, payloads }
}

/** An answer with data that is already JSON. */
export function goodText(body: string, payloads: readonly Payload[]): UpstreamAnswer {
  return { status: 200, body, cost: COST, payloads }
}

/** A refusal in the venue's words. */
export function error(status: number, code: string, message: string): UpstreamAnswer {
  const body = JSON.stringify({ error: { code, message, service: 'emulator' } })
  return { status, body, cost: COST }
}

/** A refusal because there is no such thing. */
export function missing(what: string): UpstreamAnswer {
  return error(404, 'not_found', `${what} not found`)
}

/** A refusal because of a parameter. */
export function bad(parameter: string): UpstreamAnswer {
  return error(400, 'bad_request', `invalid ${parameter}`)
}
