import { createHmac, randomBytes } from 'node:crypto'
import type { RestCall } from '../capture/rest.ts'

/** A key of the venue and its secret. */
export type VenueACredentials = { readonly apiKey: string; readonly apiSecret: string }

/** Max age of a signed request when the venue reads it; REST and the socket both accept up to 60 s. */
const RECEIVE_WINDOW_MS = 30_000

/** HMAC-SHA256 of a query string in lower-case hex, as the venue requires of HMAC keys. */
export function signText(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

/**
 * Signs a REST call: returns the headers and query parameters to add. The venue checks the query string
 * as it was sent, up to the signature, which therefore comes last.
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
 * Signs the url of a socket: parameters in the order of their names, the topics joined by `|`. The bar is
 * not percent-encoded, so that the text is the same before and after decoding.
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
