import { describe, expect, it } from 'vitest'
import { createRoster, hasEnded, isLive, type Followed } from './roster.ts'
import {
  AT,
  clobMarket,
  gammaMarket,
  MARKET,
  newMarketMessage,
  resolvedFields,
  UP,
} from './fixtures.ts'
import { createVenueCNormalizer } from './normalize.ts'
import {
  needOf,
  noteHeard,
  noteTrading,
  watchToken,
  type Need,
  type WatchedToken,
} from './token-watch.ts'

const normalizer = createVenueCNormalizer()
const OPEN_MS = Date.parse('2026-09-21T14:10:00Z')
const CLOSE_MS = Date.parse('2026-09-21T14:15:00Z')

describe('what a token needs', () => {
  it('is a first book 3 s after it was subscribed, but not before it may be asked for again', () => {
    const token = watched({ awaitingMs: 0 })
    expect(needAt(token, 3000)).toBe('nothing')
    expect(needAt(token, 3001)).toBe('first_book')
    token.askAfterMs = 5000
    expect(needAt(token, 4999)).toBe('nothing')
    expect(needAt(token, 5000)).toBe('first_book')
  })

  it('is a look at its silence after 6 s, while its market trades', () => {
    const token = watched()
    noteHeard(token, 0)
    expect(needAt(token, 6000)).toBe('nothing')
    expect(needAt(token, 6001)).toBe('silence')
    token.checkedMs = 6001
    expect(needAt(token, 12_001)).toBe('nothing')
    expect(needAt(token, 12_002)).toBe('silence')
  })

  it('is nothing before its market trades, and silence is counted from then on', () => {
    const token = watched()
    noteHeard(token, 0)
    noteTrading(token, false, 10_000)
    expect(needAt(token, 10_000)).toBe('nothing')
    noteTrading(token, true, 20_000)
    noteTrading(token, true, 26_000)
    expect(needAt(token, 26_000)).toBe('nothing')
    expect(needAt(token, 26_001)).toBe('silence')
  })

  it('is nothing while a token is only slow by habit', () => {
    const token = watched()
    for (let index = 0; index < 70; index++) noteHeard(token, index * 1000)
    expect(needAt(token, 69_000 + 20_000)).toBe('nothing')
    expect(needAt(token, 69_000 + 20_001)).toBe('silence')
  })

  it('is to be given up when its probation ends, and nothing when it was heard', () => {
    const token = watched({ probationMs: 3000 })
    expect(needAt(token, 3000)).toBe('nothing')
    expect(needAt(token, 3001)).toBe('lost')
    noteHeard(token, 2999)
    expect(needAt(token, 3001)).toBe('nothing')
  })

  it('is a comparison when one is due, and nothing while a request is under way', () => {
    const token = watched()
    noteHeard(token, 100_000)
    expect(needOf(token, 100_001, 100_000)).toBe('comparison')
    expect(needOf(token, 100_000, 100_000)).toBe('nothing')
    token.isBusy = true
    expect(needOf(token, 999_999, 1)).toBe('nothing')
  })

  function needAt(token: WatchedToken, nowMs: number): Need {
    return needOf(token, nowMs, Infinity)
  }

  function watched(changes: Partial<WatchedToken> = {}): WatchedToken {
    return { ...watchToken(followed(), UP, 0), isTrading: true, ...changes }
  }
})

describe('a followed market', () => {
  it('trades from its open to its close, unless the venue says otherwise', () => {
    const market = followed()
    expect(isLive(market, OPEN_MS - 1)).toBe(false)
    expect(isLive(market, OPEN_MS)).toBe(true)
    expect(isLive(market, CLOSE_MS - 1)).toBe(true)
    expect(isLive(market, CLOSE_MS)).toBe(false)
    expect(isLive({ ...market, status: 'paused' }, OPEN_MS)).toBe(false)
    expect(isLive({ ...market, status: 'scheduled' }, OPEN_MS)).toBe(true)
    expect(isLive({ ...market, status: 'determined' }, OPEN_MS)).toBe(false)
  })

  it('ends by a winner, and is resolved when Gamma says so', () => {
    const roster = createRoster(() => true, 1)
    const market = roster.take(recordOf('gamma_market', gammaMarket()))!
    expect(hasEnded(market)).toBe(false)
    const tokens = [{ outcome: 'Up', winner: true }, { outcome: 'Down' }]
    roster.take(recordOf('clob_market', clobMarket({ closed: true, tokens })))
    expect([hasEnded(market), market.hasWinner, market.isResolved]).toStrictEqual([
      true,
      true,
      false,
    ])
    roster.take(recordOf('gamma_market', gammaMarket(resolvedFields())))
    expect(market.isResolved).toBe(true)
    roster.forget(market)
    expect(roster.size).toBe(0)
    expect(roster.take(recordOf('gamma_market', gammaMarket(resolvedFields())))).toBeUndefined()
  })

  it('that was only announced ends by its name, in an accelerated world sooner', () => {
    const [announced] = normalizer.frame(newMarketMessage(), AT).events
    if (announced?.kind !== 'market') throw new Error('no market')
    const slow = createRoster(() => true, 1).take(announced.record)!
    expect([slow.openMs, slow.closeMs, slow.isListed]).toStrictEqual([OPEN_MS, CLOSE_MS, false])
    const fast = createRoster(() => true, 50).take(announced.record)!
    expect(fast.closeMs).toBe(OPEN_MS + 6000)
  })

  it('of an earlier run is followed without being wanted', () => {
    const roster = createRoster(() => false, 1)
    expect(roster.take(recordOf('gamma_market', gammaMarket()))).toBeUndefined()
    roster.follow(MARKET, undefined)
    expect(roster.get(MARKET)).toMatchObject({ closeMs: 0 })
    roster.take(recordOf('gamma_market', gammaMarket()))
    expect(roster.get(MARKET)).toMatchObject({ closeMs: CLOSE_MS })
    expect(roster.hasSlug(String(gammaMarket()['slug']))).toBe(true)
  })
})

function followed(): Followed {
  return createRoster(() => true, 1).take(recordOf('gamma_market', gammaMarket()))!
}

function recordOf(kind: string, value: unknown) {
  const [event] = normalizer.answer({ kind }, value, AT).events
  if (event?.kind !== 'market') throw new Error('no market')
  return event.record
}
