import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { createQuota, type Quota, type QuotaOptions } from '../capture/quota.ts'
import { createRest, type Rest, type RestAnswer, type RestCall } from '../capture/rest.ts'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type { VenueAMarket } from './markets.ts'
import { pageQuery } from './pages.ts'
import { signCall, type VenueACredentials } from './signing.ts'

/** One page of the list of topics. */
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
export function bookCall(market: VenueAMarket, tokenId: string, urgent: boolean): RestCall {
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
 * Converts a quota for n times the speed of life, which allows n times the calls, to the venue's own limit
 * in windows that are n times shorter, so that neither bursts nor pauses grow with the speed.
 */
export function toVenueWindow(quota: QuotaOptions, speed: number): QuotaOptions {
  const limit = Math.floor(quota.limit / speed)
  if (speed === 1 || limit < MIN_LIMIT) return quota
  return { ...quota, limit, windowMs: quota.windowMs / speed }
}

/** With fewer calls per window the kinds of calls could not share a quota. */
const MIN_LIMIT = 10

/** Returns a quota that the caller shares with others, or creates one from its limits. */
export function toQuota(
  quota: Quota | QuotaOptions,
  speed: number,
  clock: Clock = SYSTEM_CLOCK,
): Quota {
  return 'acquire' in quota ? quota : createQuota(toVenueWindow(quota, speed), clock)
}

/** What the REST client of venue A needs. */
export type VenueARestOptions = {
  readonly restBase: string
  readonly credentials: VenueACredentials
  readonly quota: Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
}

// The Date header is exact to half a second, so a smaller difference is not corrected. The venue refuses
// a time that is 1 s ahead of its own.
const TRUSTED_US = 1_500_000
const BEHIND_US = 500_000

/** The venue's REST interface. Signatures follow the venue's clock where ours is wrong by over a second. */
export class VenueARest implements Rest {
  readonly #rest: Rest
  readonly #quota: Quota
  readonly #sink: CaptureSink
  #offsetUs = 0

  constructor({ restBase, credentials, quota, sink, log }: VenueARestOptions) {
    this.#quota = quota
    this.#sink = sink
    this.#rest = createRest({
      base: restBase,
      quota,
      log,
      sign: (call) => signCall(call, credentials, this.nowMs()),
      sink: {
        now: () => sink.now(),
        answer: (...answer) => sink.answer(...answer),
        note: (note) => {
          if (note.note === 'clock') {
            const isWrong = Math.abs(note.offset_us) > TRUSTED_US
            this.#offsetUs = isWrong ? note.offset_us - BEHIND_US : 0
          }
          sink.note(note)
        },
      },
    })
  }

  /** Now by the venue's clock, for signatures. */
  nowMs(): number {
    return (this.#sink.now() + this.#offsetUs) / 1000
  }

  async send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const answer = await this.#rest.send(call, signal)
    // The venue bans an address for a while (418) when it goes on after refusals.
    if (!answer.ok && answer.status === 418) this.#quota.refused()
    return answer
  }
}

// -2014 and -2008: no or unknown key; -2015: the key has no permission; -1022: the secret is wrong.
const CREDENTIAL_CODES: ReadonlySet<number> = new Set([-2014, -2008, -2015, -1022])

/** Returns true where the venue refused the key or the signature: an early retry makes no sense. */
export function isCredentialRefusal(answer: RestAnswer): boolean {
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
