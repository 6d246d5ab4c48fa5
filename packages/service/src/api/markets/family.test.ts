import { join } from 'node:path'
import { DAY_MICROS, VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { expect, onTestFinished, test } from 'vitest'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createGrant } from '../auth/grant.ts'
import { DEFAULT_PLANS } from '../auth/plans.ts'
import type { ApiContext } from '../route.ts'
import { marketsWithRows } from './family.ts'
import { PlanFilter } from './plan-filter.ts'

const START = Date.UTC(2026, 8, 1) * 1000
const day = (number: number): Micros => (START + number * DAY_MICROS) as Micros

function record(id: string, open: number, close: number, more: Partial<MarketRecord> = {}) {
  return {
    venue: 'venuec',
    marketId: id,
    status: 'open',
    openTime: day(open),
    closeTime: day(close),
    outcomes: [],
    units: VENUES.venuec.units,
    native: {},
    ...more,
  } as const
}

test('markets that trade on past the closing time that their venue expects are among those with rows', async () => {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  const round = { asset: 'BTC', window: '15m' }
  const records: readonly (readonly [number, MarketRecord])[] = [
    [0, record('expected-long-ago', 3, 5)],
    [0, record('in-time', 2, 90)],
    [0, record('a-year-ago', -700, -400)],
    [0, record('round-of-then', 3, 4, round)],
    [0, record('resolved-then', 1, 6)],
    [7, record('resolved-then', 1, 6, { status: 'resolved' })],
    [0, record('resolved-late', 4, 6)],
    [45, record('resolved-late', 4, 6, { status: 'resolved' })],
    [0, record('later', 80, 90)],
  ]
  await store.append({
    venue: 'venuec',
    position: 1,
    origin: 'emulator',
    recorder: 'r1',
    normalizer: 1,
    revisions: records.map(([at, one], index) => ({
      kind: 'market' as const,
      record: one,
      received: day(at),
      journal: index + 1,
    })),
    observations: [],
    trades: [],
    samples: [],
    gaps: [],
    facts: {},
  })
  const [, quant] = DEFAULT_PLANS.map((plan) => createGrant(plan, DEFAULT_PLANS, undefined))
  const range = { start: day(40), end: day(41) }
  const find = async (family: object): Promise<string[]> => {
    const plan = new PlanFilter(quant!)
    const found: string[] = []
    const context = { store } as unknown as ApiContext
    for await (const state of marketsWithRows(context, plan, { venue: 'venuec', ...family }, range))
      found.push(state.record.marketId)
    return found
  }
  const open = ['a-year-ago', 'in-time', 'expected-long-ago', 'resolved-late']
  expect(await find({})).toEqual(open)
  expect(await find({ asset: 'BTC', window: '15m' })).toEqual([])
})
