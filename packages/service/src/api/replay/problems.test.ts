import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { printMicros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { createGrant } from '../auth/grant.ts'
import { DEFAULT_PLANS } from '../auth/plans.ts'
import {
  at,
  B_MARKET,
  C_MARKET,
  C_TOKENS,
  createCatalogueStore,
  NOON,
} from '../pages/fixture.testing.ts'
import type { Grant } from '../route.ts'
import { createContext, micros, open, play, Recorded } from './replay.testing.ts'
import { MAX_SELECTORS, MAX_SPEED } from './request.ts'
import { MAX_INSTRUMENTS, MAX_MARKETS } from './scope.ts'
import { ROW_BUDGET } from './timeline.ts'

const B = { venue: 'venueb', market_id: B_MARKET }
const RANGE = { start_time: printMicros(NOON), end_time: printMicros(at(600)) }

const grantOf = (name: string): Grant =>
  createGrant(
    DEFAULT_PLANS.find((plan) => plan.name === name)!,
    DEFAULT_PLANS,
    undefined,
  )

describe('an invalid replay request', () => {
  it.each<[string, Record<string, unknown>, object]>([
    [
      'without markets',
      { markets: [] },
      { code: 'invalid_parameter', fields: { param: 'markets' } },
    ],
    [
      'with text instead of a list',
      { markets: 'all' },
      { code: 'invalid_parameter', fields: { param: 'markets' } },
    ],
    [
      'with text instead of selectors',
      { markets: ['x'] },
      { code: 'invalid_parameter', fields: { param: 'markets' } },
    ],
    [
      'of too many markets',
      { markets: Array.from({ length: 101 }, () => B) },
      { code: 'invalid_parameter', message: 'markets has more than 100 entries' },
    ],
    [
      'without a venue',
      { markets: [{}] },
      { code: 'invalid_parameter', fields: { param: 'venue' } },
    ],
    [
      'of a market and a family',
      { markets: [{ ...B, series: 'KXBTC15M' }] },
      { code: 'invalid_parameter', fields: { param: 'series' } },
    ],
    [
      'with an unknown member of a selector',
      { markets: [{ ...B, market: 'x' }] },
      { code: 'unknown_parameter', fields: { param: 'market' } },
    ],
    ['with an unknown member', { pace: 3 }, { code: 'unknown_parameter' }],
    [
      'of an unknown market',
      { markets: [{ venue: 'venueb', market_id: B_MARKET.toLowerCase() }] },
      {
        code: 'unknown_market',
        fields: { param: 'market_id', hint: expect.stringContaining('case-sensitive') as string },
      },
    ],
    [
      'of a token',
      { markets: [{ venue: 'venuec', market_id: C_TOKENS[0] }] },
      { code: 'unknown_market', fields: { hint: expect.stringContaining(C_MARKET) as string } },
    ],
    [
      'of an unknown series',
      { markets: [{ venue: 'venueb', series: 'KXNONE' }] },
      { code: 'unknown_market', fields: { param: 'series' } },
    ],
    [
      'of an unknown asset',
      { markets: [{ venue: 'venuec', asset: 'zzz' }] },
      { code: 'unknown_asset', fields: { param: 'asset' } },
    ],
    ['of an empty range', { end_time: RANGE.start_time }, { code: 'invalid_range' }],
    [
      'backwards',
      { start_time: RANGE.end_time, end_time: RANGE.start_time },
      { code: 'invalid_range', fields: { param: 'end_time' } },
    ],
    [
      'of the future',
      { start_time: '2027-06-01T00:00:00Z', end_time: '2027-06-02T00:00:00Z' },
      { code: 'invalid_range', fields: { param: 'start_time' } },
    ],
    ['with an invalid time', { start_time: 'noon' }, { code: 'invalid_parameter' }],
    ['with a time of nine digits', { start_time: 178_641_091 }, { code: 'invalid_parameter' }],
    ['without an end', { end_time: undefined }, { code: 'invalid_parameter' }],
    ['at speed 0', { speed: 0 }, { code: 'invalid_parameter', fields: { param: 'speed' } }],
    ['at speed NaN', { speed: NaN }, { code: 'invalid_parameter', fields: { param: 'speed' } }],
    ['at a speed in text', { speed: '10' }, { code: 'invalid_parameter' }],
    ['without a dataset', { datasets: [] }, { code: 'invalid_parameter' }],
    ['of a dataset twice', { datasets: ['books', 'books'] }, { code: 'invalid_parameter' }],
    ['of samples', { datasets: ['samples'] }, { code: 'invalid_parameter' }],
    ['in an unknown mode', { mode: 'delta' }, { code: 'invalid_parameter' }],
    ['of changes with a depth', { mode: 'changes', depth: 5 }, { code: 'invalid_parameter' }],
    ['of depth 0', { depth: 0 }, { code: 'invalid_parameter', fields: { param: 'depth' } }],
    ['in an unknown number format', { number_format: 'float' }, { code: 'invalid_parameter' }],
    ['in an unknown time format', { time_format: {} }, { code: 'invalid_parameter' }],
    ['without an id', { id: '' }, { code: 'invalid_parameter', fields: { param: 'id' } }],
    ['with a long id', { id: 'x'.repeat(65) }, { code: 'invalid_parameter' }],
  ])('%s is refused', async (_, asked, expected) => {
    const context = createContext(await createCatalogueStore())
    const out = new Recorded()
    const problem = await open(context, { markets: [B], ...RANGE, ...asked }, out).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(problem).toBeInstanceOf(Problem)
    expect(problem).toMatchObject(expected)
    expect(out.messages).toEqual([])
  })

  it('is refused when the plan does not include the venue or asset', async () => {
    const context = createContext(await createCatalogueStore())
    const grant = grantOf('explorer')
    for (const selector of [
      { venue: 'venuea' },
      { venue: 'venuea', market_id: '5001' },
      { venue: 'venuec', asset: 'eth' },
      { venue: 'venueb', series: 'KXETH15M' },
    ]) {
      const opened = open(context, { markets: [selector], ...RANGE }, new Recorded(), { grant })
      await expect(opened).rejects.toMatchObject({
        code: 'plan_required',
        fields: { plan: 'quant' },
      })
    }
  })
})

describe('a replay at the edges', () => {
  it('is cut at the present, with a notice', async () => {
    const context = createContext(await createCatalogueStore(), at(35))
    const out = await play(context, { markets: [B], ...RANGE })
    expect(out.messages[0]).toMatchObject({
      state: 'started',
      notices: [{ code: 'end_cut' }],
      range: { end_time: printMicros(at(35)) },
    })
    const whole = await play(context, { ...RANGE, markets: [B], end_time: printMicros(at(35)) })
    expect(whole.last.ids_sha256).toBe(out.last.ids_sha256)
    expect(out.last.rows).toBeGreaterThan(0)
    expect(whole.messages[0]!.notices).toBeUndefined()
  })

  it('includes a market once, however often it is named', async () => {
    const context = createContext(await createCatalogueStore())
    const family = { venue: 'venueb', series: 'KXBTC15M' }
    const once = await play(context, { markets: [B, family], ...RANGE })
    const often = await play(context, { markets: [B, B, family, B, family], ...RANGE })
    expect(often.messages.map(({ text }) => text)).toEqual(once.messages.map(({ text }) => text))
  })

  it('refuses to seek outside its range and continues', async () => {
    const context = createContext(await createCatalogueStore())
    const out = new Recorded()
    const replay = await open(context, { markets: [B], ...RANGE }, out)
    for (const time of [NOON - 1, at(600)]) {
      expect(() => replay.seek(micros(time))).toThrow(Problem)
    }
    await replay.ended
    expect(out.last).toMatchObject({ state: 'finished' })
    expect(out.of('replay_state')).toHaveLength(2)
  })
})

describe('the page about replays', () => {
  it('states the limits of the code', () => {
    const file = new URL('../../../../../docs/reference/socket-replay.md', import.meta.url)
    const page = readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ')
    const show = (value: number): string => value.toLocaleString('en')
    expect(page).toContain(`1 to ${MAX_SELECTORS} entries`)
    expect(page).toContain(`up to ${show(MAX_SPEED)};`)
    expect(page).toContain(
      `at most ${show(MAX_MARKETS)} markets and ${show(MAX_INSTRUMENTS)} books`,
    )
    expect(page).toContain(`at most ${show(ROW_BUDGET)} rows`)
  })
})
