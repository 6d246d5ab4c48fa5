import type { Job } from './budget.ts'
import { createPeriods, QUIET_SHARE } from './periods.ts'
import { isFirstChoice, type FollowedMarket, type FollowedTopic, type Rounds } from './rounds.ts'

/** One call that the connector can make. */
export type Call =
  | { readonly kind: 'page' }
  | { readonly kind: 'detail'; readonly topic: FollowedTopic }
  | { readonly kind: 'book'; readonly market: FollowedMarket; readonly tokenId: string }
  | { readonly kind: 'last_trade'; readonly market: FollowedMarket; readonly tokenId: string }

const FIRST_CHOICE_WEIGHT = 2

/** Creates the function that lists all calls that could be made now or later. */
export function createJobs(rounds: Rounds, speed: number): (nowMs: number) => Job<Call>[] {
  const periods = createPeriods(speed)

  function bookJob(market: FollowedMarket, tokenId: string, nowMs: number): Job<Call> {
    const expectedMs = rounds.expectedMs(market, nowMs)
    const quietMs = expectedMs * QUIET_SHARE
    const { isWanted, heardMs, askedMs, haste } = market
    // Not more often than that, also where no answer comes or none that can be used.
    const againMs = askedMs + Math.min(quietMs, isWanted ? periods.hasteMs(haste) : periods.retryMs)
    const wantedMs = isWanted ? heardMs : heardMs + quietMs
    return {
      class: 'book',
      dueMs: Math.max(wantedMs, againMs),
      everyMs: expectedMs,
      weight: isFirstChoice(market) ? FIRST_CHOICE_WEIGHT : 1,
      // Of markets inside their window alone: a thousand listed ones would stop all else.
      urgent: isWanted && rounds.isLive(market, nowMs),
      call: { kind: 'book', market, tokenId },
    }
  }

  function tradeJob(market: FollowedMarket, tokenId: string, nowMs: number): Job<Call> {
    const everyMs = rounds.isLive(market, nowMs) ? periods.liveTradeMs : periods.listedTradeMs
    return {
      class: 'trade',
      dueMs: Math.max(0, market.tradeMs + everyMs),
      everyMs,
      weight: 1,
      urgent: false,
      call: { kind: 'last_trade', market, tokenId },
    }
  }

  return (nowMs) => {
    const jobs: Job<Call>[] = []
    for (const market of rounds.markets.values()) {
      const { tokenId } = market
      if (tokenId === undefined || !rounds.isOpen(market, nowMs)) continue
      if (!market.isAsking) jobs.push(bookJob(market, tokenId, nowMs))
      if (!market.isAskingTrade) jobs.push(tradeJob(market, tokenId, nowMs))
    }
    for (const topic of rounds.topics.values()) {
      if (topic.isAsking || topic.dueMs === Infinity) continue
      jobs.push({
        class: 'detail',
        dueMs: topic.dueMs,
        everyMs: periods.resolutionPollMs(topic.polls),
        weight: 1,
        urgent: false,
        call: { kind: 'detail', topic },
      })
    }
    return jobs
  }
}
