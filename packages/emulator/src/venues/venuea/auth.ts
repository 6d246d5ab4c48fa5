import { createHmac } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import type {
  UpstreamAnswer,
  UpstreamCredentials,
  UpstreamRequest,
  World,
} from '../../core/upstream.ts'
import { missing, refuse, staleTimestamp } from './refusal.ts'

/** Checks key, clock and signature of a request; undefined for a valid one. */
export type CheckAuth = (
  request: UpstreamRequest,
  /** REST signs the query as it was sent, the socket its parameters sorted by name. */
  order: 'as sent' | 'sorted',
) => UpstreamAnswer | undefined

/** The credentials of the venue. */
const CREDENTIAL_NAMES = ['apiKey', 'apiSecret'] as const

const DEFAULT_WINDOW_MS = 5_000
const MAX_WINDOW_MS = 60_000
/** Max time that a request may be ahead of the venue's clock, whatever its window. */
const AHEAD_MS = 1_000

/** Creates the check for one key and its secret. */
export function createAuth(world: World, credentials: UpstreamCredentials): CheckAuth {
  const { apiKey, apiSecret } = credentials
  if (apiKey === undefined || apiSecret === undefined) {
    throw new PriorbookError(
      'invalid_argument',
      `venue A needs the credentials ${CREDENTIAL_NAMES.join(' and ')}`,
    )
  }

  return ({ headers, query }, order) => {
    const key = headers['x-mbx-apikey'] ?? ''
    if (key === '') return refuse(401, -2014, 'API-key format invalid.')
    if (key !== apiKey) return refuse(400, -2008, 'Invalid Api-Key ID.')
    const timestamp = query.get('timestamp') ?? ''
    if (!/^\d{1,15}$/.test(timestamp)) return missing('timestamp')
    const window = query.get('recvWindow') ?? String(DEFAULT_WINDOW_MS)
    if (!/^\d{1,9}$/.test(window)) return missing('recvWindow')
    if (Number(window) > MAX_WINDOW_MS) {
      return refuse(400, -1131, `recvWindow must be less than ${MAX_WINDOW_MS}.`)
    }
    const ahead = Number(timestamp) - world.now('venuea')
    if (ahead >= AHEAD_MS) {
      const words = `was ${AHEAD_MS}ms ahead of the server's time.`
      return refuse(400, -1021, `Timestamp for this request ${words}`)
    }
    if (-ahead > Number(window)) {
      return staleTimestamp()
    }
    const signature = (query.get('signature') ?? '').toLowerCase()
    if (signature === '') return missing('signature')
    const good = signedTexts(query, order).some((text) => sign(text, apiSecret) === signature)
    return good ? undefined : refuse(400, -1022, 'Signature for this request is not valid.')
  }
}

/** Signs a query string as the venue wants it. */
export function sign(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

// The query arrives parsed; these are the encodings that clients use for the same parameters.
function signedTexts(query: URLSearchParams, order: 'as sent' | 'sorted'): string[] {
  const rest = [...query].filter(([name]) => name !== 'signature')
  if (order === 'sorted') rest.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const join = (write: (text: string) => string): string =>
    rest.map(([name, value]) => `${write(name)}=${write(value)}`).join('&')
  return [new URLSearchParams(rest).toString(), join(encodeURIComponent), join((text) => text)]
}
