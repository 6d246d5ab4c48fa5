import { describe, expect, it } from 'vitest'
import { isLive, isOver, VenueCMarkets, type VenueCMarket } from './markets.ts'
import {
  AT,
  clobMarket,
  gammaMarket,
  MARKET,
  newMarketMessage,
  resolvedFields,
  UP,
} from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { WatchedToken, type Need } from './token.ts'

const normalizer = createVenueCNormalizer()
const OPEN_MS = Date.parse('2026-09-21T14:10:00Z')
const CLOSE_MS = Date.parse('2026-09-21T14:15:00Z')

describe('what a token needs', () => {
  it('is a first book 3 s after it was subscribed, but not before it may be requested again', () => {
    const token = watched()
    token.subscribed(0)
    expect(token.state).toBe('sent')
    expect(needAt(token, 3000)).toBe('nothing')
    expect(needAt(token, 3001)).toBe('first_book')
    token.requestAfterMs = 5000
    expect(needAt(token, 4999)).toBe('nothing')
    expect(needAt(token, 5000)).toBe('first_book')
  })

  it('is a look into its silence after 6 s, while its market trades', () => {
    const token = watched()
    token.heard('snapshot', 0)
    expect(token.state).toBe('active')
    expect(needAt(token, 6000)).toBe('nothing')
    expect(needAt(token, 6001)).toBe('silence')
    token.checked(6001, false)
    expect(needAt(token, 12_001)).toBe('nothing')
    expect(needAt(token, 12_002)).toBe('silence')
  })

  it('is a look ever more rarely where nothing happened', () => {
    const token = watched()
    token.heard('snapshot', 0)
    token.checked(6001, true)
    expect(needAt(token, 18_001)).toBe('nothing')
    expect(needAt(token, 18_002)).toBe('silence')
    token.checked(18_002, true)
    expect(needAt(token, 42_002)).toBe('nothing')
    expect(needAt(token, 42_003)).toBe('silence')
  })

  it('is nothing before its market trades, and silence is counted from then on', () => {
    const token = watched()
    token.heard('snapshot', 0)
    token.setTrading(false, 10_000)
    expect(needAt(token, 10_000)).toBe('nothing')
    token.setTrading(true, 20_000)
    token.setTrading(true, 26_000)
    expect(needAt(token, 26_000)).toBe('nothing')
    expect(needAt(token, 26_001)).toBe('silence')
  })

  it('is nothing while a token is only slow by habit', () => {
    const token = watched()
    for (let index = 0; index < 70; index++) token.heard('change', index * 1000)
    expect(needAt(token, 69_000 + 20_000)).toBe('nothing')
    expect(needAt(token, 69_000 + 20_001)).toBe('silence')
  })

  it('is to be given up when its probation ends, and nothing when it was heard', () => {
    const silent = watched()
    silent.subscribed(0)
    silent.startProbation(0)
    expect(needAt(silent, 3000)).toBe('nothing')
    expect(needAt(silent, 3001)).toBe('lost')
    silent.endProbation(3001)
    expect(silent.state).toBe('lost')
    const heard = watched()
    heard.subscribed(0)
    heard.startProbation(0)
    heard.heard('snapshot', 2999)
    expect(needAt(heard, 3001)).toBe('nothing')
  })

  it('is a comparison when one is due, and nothing while a request is in flight', () => {
    const token = watched()
    token.heard('snapshot', 100_000)
    expect(token.need(100_001, 100_000)).toBe('comparison')
    expect(token.need(100_000, 100_000)).toBe('nothing')
    token.isBusy = true
    expect(token.need(999_999, 1)).toBe('nothing')
  })

  function needAt(token: WatchedToken, nowMs: number): Need {
    return token.need(nowMs, Infinity)
  }

  function watched(): WatchedToken {
    const token = new WatchedToken(followed(), UP, 0)
    token.setTrading(true, 0)
    return token
  }
})

describe('the stream of a token', () => {
  it('is active from its first full book on, and again awaits one after a reset', () => {
    const token = new WatchedToken(followed(), UP, 0)
    token.subscribed(0)
    token.heard('change', 10)
    expect([token.state, token.hasBook, token.isHeard]).toStrictEqual(['sent', false, true])
    token.heard('snapshot', 20)
    expect([token.state, token.hasBook]).toStrictEqual(['active', true])
    token.heard('reset', 30)
    expect([token.state, token.hasBook, token.isHeard]).toStrictEqual(['sent', false, false])
    token.subscribed(40)
    expect([token.subscription, token.isYoung(1039), token.isYoung(1040)]).toStrictEqual([
      2,
      true,
      false,
    ])
  })

  it('continues a book that REST brought', () => {
    const token = new WatchedToken(followed(), UP, 0)
    token.subscribed(0)
    token.hasBook = true
    expect(token.isAwaitingBook).toBe(true)
    token.heard('trade', 5)
    expect(token.isAwaitingBook).toBe(true)
    token.heard('change', 10)
    expect(token.state).toBe('active')
  })
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
    const markets = new VenueCMarkets(() => true, 1)
    const market = markets.update(recordOf('gamma_market', gammaMarket()))!
    expect(isOver(market)).toBe(false)
    const tokens = [{ outcome: 'Up', winner: true }, { outcome: 'Down' }]
    markets.update(recordOf('clob_market', clobMarket({ closed: true, tokens })))
    expect([isOver(market), market.hasWinner, market.isResolved]).toStrictEqual([true, true, false])
    markets.update(recordOf('gamma_market', gammaMarket(resolvedFields())))
    expect(market.isResolved).toBe(true)
    markets.delete(market)
    expect(markets.size).toBe(0)
    expect(markets.update(recordOf('gamma_market', gammaMarket(resolvedFields())))).toBeUndefined()
  })

  it('that was only announced ends by its name, in an accelerated world sooner', () => {
    const [announced] = normalizer.frame(newMarketMessage(), AT).events
    if (announced?.kind !== 'market') throw new Error('no market')
    const slow = new VenueCMarkets(() => true, 1).update(announced.record)!
    expect([slow.openMs, slow.closeMs, slow.isListed]).toStrictEqual([OPEN_MS, CLOSE_MS, false])
    const fast = new VenueCMarkets(() => true, 50).update(announced.record)!
    expect(fast.closeMs).toBe(OPEN_MS + 6000)
  })

  it('of an earlier run is followed without being wanted', () => {
    const markets = new VenueCMarkets(() => false, 1)
    expect(markets.update(recordOf('gamma_market', gammaMarket()))).toBeUndefined()
    markets.resume(MARKET, undefined)
    expect(markets.get(MARKET)).toMatchObject({ closeMs: 0 })
    markets.update(recordOf('gamma_market', gammaMarket()))
    expect(markets.get(MARKET)).toMatchObject({ closeMs: CLOSE_MS })
    expect(markets.hasSlug(String(gammaMarket()['slug']))).toBe(true)
  })
})

function followed(): VenueCMarket {
  return new VenueCMarkets(() => true, 1).update(recordOf('gamma_market', gammaMarket()))!
}

function recordOf(kind: string, value: unknown) {
  const [event] = normalizer.answer({ kind }, value, AT).events
  if (event?.kind !== 'market') throw new Error('no market')
  return event.record
}
