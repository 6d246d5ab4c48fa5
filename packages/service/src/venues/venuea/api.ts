import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { createQuota, type Quota, type QuotaOptions } from '../capture/quota.ts'
import { createRest, type Rest, type RestAnswer, type RestCall } from '../capture/rest.ts'
import { pageQuery } from './pages.ts'
import type { FollowedMarket } from './rounds.ts'
import { signCall, type VenueACredentials } from './signing.ts'

/** The calls that are made of venue A. */
export function listCall(offset: number): RestCall {
  const request = { kind: 'topics', offset }
  return { request, path: '/market/list', query: pageQuery(offset) }
}

/** The details of one topic: reference prices, neighbours, winner. */
export function detailCall(topicId: string): RestCall {
  const request = { kind: 'topic', topic_id: topicId }
  return { request, path: '/market/detail', query: { marketTopicId: topicId } }
}

/** The book of outcome 0. */
export function bookCall(market: FollowedMarket, tokenId: string, urgent: boolean): RestCall {
  const { marketId, vendor } = market
  return {
    request: { kind: 'book', market_id: marketId, token_id: tokenId, outcome_index: 0 },
    path: '/order-book',
    query: { vendor, marketId, tokenId },
    urgent,
  }
}

/** The price of the newest trade of outcome 0. */
export function lastTradeCall(marketId: string, tokenId: string): RestCall {
  return {
    request: { kind: 'last_trade', market_id: marketId, token_id: tokenId },
    path: '/order-book/last-trade-price',
    query: { marketId },
  }
}

/**
 * A quota for n times the speed allows n times the calls; it is spent as the venue's own would be,
 * in windows that are n times shorter, so that neither bursts nor pauses grow with the speed.
 */
export function toVenueWindow(quota: QuotaOptions, speed: number): QuotaOptions {
  const limit = Math.floor(quota.limit / speed)
  // A few calls per window are no longer a quota that can be shared.
  if (speed === 1 || limit < LEAST_LIMIT) return quota
  return { ...quota, limit, windowMs: quota.windowMs / speed }
}

const LEAST_LIMIT = 10

/** Takes the quota that a caller shares among several, or makes one of its limits. */
export function toQuota(quota: Quota | QuotaOptions, speed: number): Quota {
  return 'acquire' in quota ? quota : createQuota(toVenueWindow(quota, speed))
}

/** What an API of venue A is made of. */
export type VenueAApiOptions = {
  readonly restBase: string
  readonly credentials: VenueACredentials
  readonly quota: Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
}

/** The venue's REST interface, signed by its own clock. */
export interface VenueAApi extends Rest {
  /** Now by the venue's clock, for signatures. */
  nowMs(): number
}

// The clock of the header is good to half a second: a smaller difference is not ours to correct, and
// a time ahead of the venue's is refused from 1 s on.
const TRUSTED_US = 1_500_000
const BEHIND_US = 500_000

/** Creates it; signatures follow the venue's clock where ours is wrong by more than a second. */
export function createVenueAApi(options: VenueAApiOptions): VenueAApi {
  const { sink, quota, credentials } = options
  let offset = 0
  const nowMs = (): number => (sink.now() + offset) / 1000
  const rest = createRest({
    base: options.restBase,
    quota,
    log: options.log,
    sign: (call) => signCall(call, credentials, nowMs()),
    sink: {
      now: () => sink.now(),
      answer: (...answer) => sink.answer(...answer),
      note(note) {
        if (note.note === 'clock') {
          offset = Math.abs(note.offset_us) > TRUSTED_US ? note.offset_us - BEHIND_US : 0
        }
        sink.note(note)
      },
    },
  })
  return {
    nowMs,
    async send(call, signal) {
      const answer = await rest.send(call, signal)
      // The venue bans an address for a while (418) that went on after refusals.
      if (!answer.ok && answer.status === 418) quota.refused()
      return answer
    },
  }
}

// -2014 and -2008: no or unknown key; -2015: the key may not do this; -1022: the secret is wrong.
const CREDENTIAL_CODES: ReadonlySet<number> = new Set([-2014, -2008, -2015, -1022])

/** True where the venue refused the key or the signature: trying again soon makes no sense. */
export function isRefusal(answer: RestAnswer): boolean {
  if (!answer.ok && answer.status === 401) return true
  const code = answer.ok ? codeIn(answer.value) : codeInText(answer.why)
  return code !== undefined && CREDENTIAL_CODES.has(code)
}

function codeIn(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code } = value as { readonly code?: unknown }
  return typeof code === 'number' ? code : undefined
}

function codeInText(text: string): number | undefined {
  const match = /"code"\s*:\s*(-?\d{1,6})\b/.exec(text)
  return match === null ? undefined : Number(match[1])
}
