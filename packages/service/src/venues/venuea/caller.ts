import { PriorbookError, toMicros } from '@priorbook/sdk/domain'
import type { RestAnswer, RestCall } from '../capture/rest.ts'
import { bookCall, detailCall, isRefusal, lastTradeCall, listCall, type VenueAApi } from './api.ts'
import type { Job } from './budget.ts'
import type { Discovery } from './discovery.ts'
import type { Feeds } from './feeds.ts'
import type { Call } from './jobs.ts'
import { createVenueANormalizer } from './normalize.ts'
import type { FollowedMarket, FollowedTopic, Rounds } from './rounds.ts'
import type { Standing } from './standing.ts'

/** What calls are made with, and what their answers change. */
export type CallerOptions = {
  readonly api: VenueAApi
  readonly rounds: Rounds
  readonly discovery: Discovery
  readonly feeds: Feeds
  readonly standing: Standing
  readonly nowMs: () => number
}

/** Makes planned calls and draws the conclusions from their answers. */
export interface Caller {
  make(job: Job<Call>, signal: AbortSignal): Promise<void>
}

/** Creates it. */
export function createCaller(options: CallerOptions): Caller {
  const { api, rounds, discovery, feeds, standing, nowMs } = options
  const normalizer = createVenueANormalizer()

  /** The answer's value, or undefined; tells the standing how it went. */
  async function ask(call: RestCall, signal: AbortSignal): Promise<unknown> {
    const answer = await api.send(call, signal)
    if (isRefusal(answer)) standing.refused(whyOf(answer), nowMs())
    else if (answer.ok) standing.answered()
    else standing.failed(answer.why)
    return answer.ok ? answer.value : undefined
  }

  async function page(signal: AbortSignal): Promise<void> {
    const call = listCall(discovery.startPage())
    const value = await ask(call, signal)
    if (!discovery.takePage(value, nowMs())) standing.failed('the catalogue could not be read')
  }

  async function detail(topic: FollowedTopic, signal: AbortSignal): Promise<void> {
    topic.isAsking = true
    const value = await ask(detailCall(topic.topicId), signal)
    topic.isAsking = false
    discovery.takeTopic(topic.topicId, value, nowMs())
  }

  async function book(
    market: FollowedMarket,
    tokenId: string,
    urgent: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const isQuiet = !market.isWanted && rounds.isLive(market, nowMs())
    market.haste = market.isWanted ? market.haste + 1 : 0
    market.isAsking = true
    const call = bookCall(market, tokenId, urgent)
    const value = await ask(call, signal)
    market.isAsking = false
    // The quota may have held it back.
    market.askedMs = nowMs()
    // Its socket should have said it: a subscription can be lost without a word.
    if (isQuiet) feeds.renew(market.marketId)
    if (value !== undefined && isReadable(call, value)) rounds.heard(market.marketId, nowMs())
  }

  async function lastTrade(market: FollowedMarket, tokenId: string, signal: AbortSignal) {
    market.isAskingTrade = true
    await ask(lastTradeCall(market.marketId, tokenId), signal)
    market.isAskingTrade = false
    market.tradeMs = nowMs()
  }

  /** A malformed book goes to quarantine and is not heard. */
  function isReadable({ request }: RestCall, value: unknown): boolean {
    try {
      normalizer.answer(request, value, { received: toMicros(0), journal: 0 })
      return true
    } catch (error) {
      if (error instanceof PriorbookError) return false
      throw error
    }
  }

  return {
    make({ call, urgent }, signal) {
      switch (call.kind) {
        case 'page':
          return page(signal)
        case 'detail':
          return detail(call.topic, signal)
        case 'book':
          return book(call.market, call.tokenId, urgent, signal)
        case 'last_trade':
          return lastTrade(call.market, call.tokenId, signal)
      }
    },
  }
}

function whyOf(answer: RestAnswer): string {
  return answer.ok ? 'refused by the answer' : `${answer.status ?? ''} ${answer.why}`.trim()
}
