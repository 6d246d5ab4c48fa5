import type { BookRowJson } from '@priorbook/sdk/client'
import type { EventMarketJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { chooseDrawn, MAX_DRAWN, priceOf, recordedSpan, toEventLines } from './event-lines.ts'
import type { GapSpan } from './gap.ts'
import { SECOND } from './time.ts'

const market = (id: number, more: Partial<EventMarketJson> = {}): EventMarketJson =>
  ({
    market_id: `M-${id}`,
    status: 'open',
    best_bid: String(id / 100),
    best_ask: String((id + 2) / 100),
    last_price: null,
    coverage: { first_time: 10 * SECOND, last_time: 50 * SECOND, observations: 3, gaps: 0 },
    ...more,
  }) as EventMarketJson

const row = (seconds: number, bid: string | null, ask: string | null): BookRowJson =>
  ({ received_time: seconds * SECOND, best_bid: bid, best_ask: ask }) as BookRowJson

const gap = (start: number, end: number | undefined): GapSpan =>
  ({ start: start * SECOND, end: end === undefined ? undefined : end * SECOND }) as GapSpan

describe('the lines of an event', () => {
  it('are those of the recorded outcomes with the highest prices', () => {
    const markets = Array.from({ length: 20 }, (_, id) => market(id))
    const empty = market(99, { coverage: { ...markets[0]!.coverage, observations: 0 } })
    const drawn = chooseDrawn([...markets, empty])
    expect(drawn.map(({ market_id: id }) => id)).toEqual(
      Array.from({ length: MAX_DRAWN }, (_, index) => `M-${19 - index}`),
    )
  })

  it('compare by the middle of the book, else by what is known', () => {
    expect(priceOf(market(40))).toBeCloseTo(0.41)
    expect(priceOf(market(40, { best_ask: null, last_price: '0.3' }))).toBe(0.3)
    expect(priceOf(market(40, { best_ask: null }))).toBe(0.4)
    expect(priceOf(market(40, { best_bid: null, best_ask: null }))).toBeUndefined()
  })

  it('span everything recorded, up to now while a market is open', () => {
    expect(recordedSpan([], 9)).toBeUndefined()
    expect(recordedSpan([market(1)], 90 * SECOND)).toEqual({ from: 10 * SECOND, to: 90 * SECOND })
    const ended = market(1, { status: 'resolved' })
    expect(recordedSpan([ended], 900 * SECOND)).toEqual({ from: 10 * SECOND, to: 50 * SECOND })
  })

  it('go on until the next book, and stop at a gap and where nothing is known', () => {
    const rows = [row(1, '0.4', '0.5'), row(3, '0.5', '0.7'), row(7, '0.2', '0.4')]
    const span = { from: 0, to: 10 * SECOND, step: SECOND }
    const lines = (gaps: readonly GapSpan[], until: number) =>
      toEventLines([{ rows, gaps, until: until * SECOND }], span)[1]!.map((price) =>
        price === null ? null : Math.round(price * 100),
      )
    expect(lines([], 10)).toEqual([null, 45, 45, 60, 60, 60, 60, 30, 30, 30])
    expect(lines([gap(4, 6)], 10)).toEqual([null, 45, 45, 60, 60, null, null, 30, 30, 30])
    expect(lines([gap(7, undefined)], 10).slice(7)).toEqual([30, null, null])
    expect(lines([], 8).slice(7)).toEqual([30, 30, null])
    const oneSided = toEventLines([{ rows: [row(1, null, '0.5')], gaps: [], until: 1e12 }], span)
    expect(oneSided[1]!.every((price) => price === null)).toBe(true)
  })
})
