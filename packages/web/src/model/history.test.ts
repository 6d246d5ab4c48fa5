import type { BookRowJson } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import type { GapSpan } from './gap.ts'
import { toHeatGrid } from './heat.ts'
import {
  carryForward,
  chooseInterval,
  INTERVAL_MICROS,
  MAX_BUCKETS,
  toHistory,
  toPriceLines,
  withColumn,
  type Column,
} from './history.ts'
import { DAY, HOUR, MINUTE, SECOND } from './time.ts'

const START = 1_786_410_900_000_000

function rowAt(seconds: number, bid: string, ask: string): BookRowJson {
  return {
    received_time: START + seconds * SECOND,
    bids: { price: [bid], size: ['10'] },
    asks: { price: [ask], size: ['20'] },
  } as unknown as BookRowJson
}

const span = { from: START, to: START + 10 * SECOND, step: SECOND }
const gap = (from: number, to: number | undefined): GapSpan => ({
  start: START + from * SECOND,
  end: to === undefined ? undefined : START + to * SECOND,
  reason: 'disconnected',
  scope: 'instrument',
  detail: null,
})

describe('sampled books over time', () => {
  const rows = [rowAt(1.5, '0.4', '0.5'), rowAt(6.2, '0.41', '0.5')]
  const history = toHistory('venueb', rows, span)

  it('assigns rows to their buckets and leaves the others empty', () => {
    expect(history.columns.map((column) => column !== undefined)).toEqual([
      false,
      true,
      false,
      false,
      false,
      false,
      true,
      false,
      false,
      false,
    ])
  })

  it('carries a book forward to the next one, but not before the first and not after the end', () => {
    const stood = carryForward(history, [], START + 8.6 * SECOND)
    expect(stood.map((column) => column?.bidTicks[0])).toEqual([
      undefined,
      4000,
      4000,
      4000,
      4000,
      4000,
      4100,
      4100,
      4100,
      undefined,
    ])
  })

  it('carries no book into or over a gap', () => {
    const stood = carryForward(history, [gap(3, 5)], START + 10 * SECOND)
    expect(stood.map((column) => column?.bidTicks[0])).toEqual([
      undefined,
      4000,
      4000,
      undefined,
      undefined,
      undefined,
      4100,
      4100,
      4100,
      4100,
    ])
    const open = carryForward(history, [gap(7.5, undefined)], START + 10 * SECOND)
    expect(open.at(-1)).toBeUndefined()
    expect(open[6]).toBeDefined()
  })

  it('breaks the price lines where there is no book', () => {
    const lines = toPriceLines(history, carryForward(history, [gap(3, 5)], START + 10 * SECOND))
    expect(lines[1].slice(1, 7)).toEqual([0.4, 0.4, null, null, null, 0.41])
    expect(lines[3][1]).toBeCloseTo(0.45, 10)
    expect(lines[0][1]).toBe((START + 1.5 * SECOND) / 1e6)
  })

  it('grows with the present, and keeps the newer of two books', () => {
    const newest: Column = { ...history.columns[6]!, time: START + 11.4 * SECOND }
    const grown = withColumn(history, newest, START + 13 * SECOND)
    expect(grown.columns).toHaveLength(14)
    expect(grown.columns[11]).toBe(newest)
    expect(grown.to).toBe(START + 14 * SECOND)
    const older = { ...newest, time: START + 11.1 * SECOND }
    expect(withColumn(grown, older).columns[11]).toBe(newest)
  })
})

describe('the picture of depth', () => {
  const column = (bids: number[], asks: number[]): Column => ({
    time: START,
    bidTicks: bids,
    bidSize: bids.map((_, level) => 10 ** level),
    askTicks: asks,
    askSize: asks.map(() => 5),
  })

  it('has one row per tick of its prices, the highest on top', () => {
    const grid = toHeatGrid([column([4800, 4700], [4900]), undefined, column([4700], [4900])])!
    expect(grid).toMatchObject({ width: 3, height: 3, top: 4900, bottom: 4700, tick: 100 })
    const cell = (cells: Uint8Array, x: number, y: number): number => cells[y * 3 + x]!
    expect(cell(grid.asks, 0, 0)).toBeGreaterThan(0)
    expect(cell(grid.bids, 0, 1)).toBeGreaterThan(0)
    expect(cell(grid.bids, 2, 1)).toBe(0)
    expect(cell(grid.bids, 0, 2)).toBeGreaterThan(cell(grid.bids, 0, 1))
    expect([0, 1, 2].map((y) => cell(grid.bids, 1, y) + cell(grid.asks, 1, y))).toEqual([0, 0, 0])
  })

  it('is undefined without levels', () => {
    expect(toHeatGrid([undefined, column([], [])])).toBeUndefined()
  })

  it('merges ticks where there are too many to be seen', () => {
    const prices = Array.from({ length: 4000 }, (_, level) => 1 + level * 2)
    const grid = toHeatGrid([column(prices, [9999])])!
    expect(grid.height).toBeLessThanOrEqual(501)
    expect(grid.bids.some((value) => value > 0)).toBe(true)
  })
})

describe('the interval of a picture', () => {
  it('is the finest that fits on one page', () => {
    expect(chooseInterval(5 * MINUTE)).toBe('1s')
    expect(chooseInterval(15 * MINUTE)).toBe('1s')
    expect(chooseInterval(HOUR)).toBe('5s')
    expect(chooseInterval(DAY)).toBe('5m')
    expect(chooseInterval(4000 * DAY)).toBe('1d')
    for (const span of [MINUTE, HOUR, DAY, 31 * DAY]) {
      expect(span / INTERVAL_MICROS[chooseInterval(span)]).toBeLessThanOrEqual(MAX_BUCKETS)
    }
  })
})
