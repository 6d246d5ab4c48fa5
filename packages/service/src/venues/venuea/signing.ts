import { createHmac, randomBytes } from 'node:crypto'
import type { RestCall } from '../capture/rest.ts'

/** A key of the venue and its secret. */
export type VenueACredentials = { readonly apiKey: string; readonly apiSecret: string }

/** How old a signed request may be when the venue reads it; REST and the socket both take 60 s at most. */
export const RECEIVE_WINDOW_MS = 30_000

/** HMAC-SHA256 of a query string in lower-case hex, the one signature that the venue takes of HMAC keys. */
export function signText(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

/**
 * What a REST call needs beside its own query: the venue checks the query string as it was sent, up
 * to the signature, which therefore comes last.
 */
export function signCall(
  call: Pick<RestCall, 'query'>,
  { apiKey, apiSecret }: VenueACredentials,
  nowMs: number,
): {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
} {
  const timed = { recvWindow: String(RECEIVE_WINDOW_MS), timestamp: String(Math.floor(nowMs)) }
  const sent = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...call.query, ...timed })) {
    for (const one of typeof value === 'string' ? [value] : value) sent.append(name, one)
  }
  const signature = signText(sent.toString(), apiSecret)
  return { headers: { 'X-MBX-APIKEY': apiKey }, query: { ...timed, signature } }
}

/**
 * Where a socket connects: parameters in the order of their names, the topics joined by `|`. The
 * bar is written as it is, so that the text is the same before and after decoding.
 */
export function signSocket(
  base: string,
  topics: readonly string[],
  { apiKey, apiSecret }: VenueACredentials,
  nowMs: number,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const random = randomBytes(16).toString('hex')
  const time = `recvWindow=${RECEIVE_WINDOW_MS}&timestamp=${Math.floor(nowMs)}`
  const text = `random=${random}&${time}&topic=${topics.join('|')}`
  const url = `${base}?${text}&signature=${signText(text, apiSecret)}`
  return { url, headers: { 'X-MBX-APIKEY': apiKey } }
}
