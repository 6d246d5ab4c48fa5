import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { shapeDifferences } from '../venuea/shape.testing.ts'
import { ladder, START } from '../venuea/world.testing.ts'
import { createTestVenue } from './venue.testing.ts'

/** Recorded answers and frames, found through PRIORBOOK_RECORDINGS and never committed. */
const root = process.env['PRIORBOOK_RECORDINGS']
const folder = join(resolve(root ?? '.'), 'venuec')

if (root === undefined) {
  console.warn('shapes of venue C skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}

describe.skipIf(root === undefined)('the shapes of venue C', () => {
  const venue = createTestVenue()
  const { world } = venue
  const open = world.list()
  const ended = world.list({ openTime: START - 300_000 })
  const tokens = venue.tokens(open)
  const { wire } = venue.connect({
    assets_ids: [...tokens, ...venue.tokens(ended)],
    type: 'market',
    custom_feature_enabled: true,
  })
  world.at += 120_123
  for (const market of [open, ended]) {
    world.phase(market, 'open')
    world.change(market, ladder(5_250, 40))
    const fill = { price: 5_350, size: 123_450_000, taker: 'buy' } as const
    world.change(market, [{ side: 'ask', price: 5_350, size: 17_250_000 }], fill)
    world.change(market, [{ side: 'bid', price: 5_150, size: 648_100_000 }])
    world.change(market, [{ side: 'bid', price: 5_200, size: 5_000_000 }])
  }
  world.tick(open, 10)
  world.phase(ended, 'closed')
  world.phase(ended, 'determined', { winner: 'second', endPrice: '1' })
  world.phase(ended, 'resolved')
  world.list({ asset: 'ETH' })

  const frames = wire.sent.flatMap(({ text }) => {
    const value = JSON.parse(text) as Frame | Frame[]
    return Array.isArray(value) ? value : [value]
  })
  type Frame = { event_type: string }
  const framesOf = (type: string): Frame[] => frames.filter(({ event_type }) => event_type === type)

  it('shows books over REST like the recorded pair', () => {
    const shown = tokens.map((token_id) => venue.get('/clob/book', { token_id }).value)
    const pair = ['up', 'down'].map((name) => read(`rest/rest_book_${name}.json`))
    // Another market, whose last trade has three decimals that count.
    const fine = read('rest/book_trimmed_vance_2026-06-12.json')
    expect(shapeDifferences(shown, [...pair, fine])).toEqual([])
    for (const value of [...shown, ...pair]) {
      const { bids, asks } = value as Record<'bids' | 'asks', { price: string }[]>
      expect(Number(bids.at(-1)!.price)).toBeGreaterThan(Number(bids[0]!.price))
      expect(Number(asks.at(-1)!.price)).toBeLessThan(Number(asks[0]!.price))
    }
    expect(Object.keys(shown[0] as object)).toEqual(Object.keys(pair[0] as object))
  })

  it('pushes price changes like the recorded frames', () => {
    const recorded = lines('ws/ws_price_change_frames.jsonl').map(
      (line) => JSON.parse((line as { raw_frame: string }).raw_frame) as Frame,
    )
    expect(shapeDifferences(framesOf('price_change'), recorded)).toEqual([])
    for (const frame of [...framesOf('price_change'), ...recorded]) {
      const { price_changes: changes } = frame as unknown as { price_changes: Change[] }
      const [first, second] = changes as [Change, Change]
      expect([first.side, second.side].toSorted()).toEqual(['BUY', 'SELL'])
      expect(first.size).toBe(second.size)
      expect(Math.round((Number(first.price) + Number(second.price)) * 10_000)).toBe(10_000)
    }
    type Change = { side: string; price: string; size: string }
  })

  it('announces markets like the recorded frame', () => {
    const [line] = lines('ws/ws_new_market_frame.jsonl') as [{ raw_frame: string }]
    const recorded = JSON.parse(line.raw_frame) as Frame
    const shown = framesOf('new_market')
    expect(shown.length).toBeGreaterThan(0)
    const differences = shapeDifferences(shown, [recorded], { anyText: true })
    expect(differences).toEqual([])
  })

  it.each(['book', 'last_trade_price', 'tick_size_change', 'best_bid_ask', 'market_resolved'])(
    'pushes %s with the fields of the shown messages',
    (type) => {
      const recorded = lines('ws/market_channel_messages.jsonl')
        .flat()
        .filter((one) => (one as Frame).event_type === type)
      expect(recorded.length).toBeGreaterThan(0)
      const shown = type === 'market_resolved' ? resolvedFrames() : framesOf(type)
      expect(shown.length).toBeGreaterThan(0)
      const differences = shapeDifferences(shown, recorded, {
        anyText: true,
        // Tags of a short market are an empty list.
        missing: ['.tags[]'],
      })
      expect(differences).toEqual([])
    },
  )

  it('pushes decimals in the recorded forms', () => {
    const forms = (name: string): unknown => read(`recorded/py__ws_messages__${name}.json`)
    const allowed = { extra: ['.tick_size', '.last_trade_price', '.transaction_hash'] }
    expect(shapeDifferences(framesOf('book').slice(-1), [forms('book')].flat(), allowed)).toEqual(
      [],
    )
    const trades = framesOf('last_trade_price')
    expect(shapeDifferences(trades, [forms('last_trade_price')].flat(), allowed)).toEqual([])
    const ticks = framesOf('tick_size_change')
    expect(shapeDifferences(ticks, [forms('tick_size_change')].flat())).toEqual([])
  })

  it('shows an open market like the one recorded of Gamma', () => {
    const [shown] = venue.get('/gamma/markets', { condition_ids: conditionOf(0) }).value as [object]
    const recorded = read('recorded/rust__gamma_market.json')
    const differences = shapeDifferences([shown], [recorded], {
      // Since June 2026 (recorded of closed markets).
      extra: ['.feeSchedule', '.liquidityAmm'],
    })
    expect(differences).toEqual([])
  })

  it('shows a resolved market like the 292 recorded of a day', () => {
    const query = { condition_ids: conditionOf(1), closed: 'true' }
    const shown = venue.get('/gamma/markets', query).value as object[]
    const text = gunzipSync(readFileSync(join(folder, 'gamma/BTC-5m-markets-2026-06-08.jsonl.gz')))
    const recorded = text
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { raw: unknown }).raw)
    expect(recorded).toHaveLength(292)
    const differences = shapeDifferences(shown, recorded, {
      // Whoever kept them left the events out; half of them have no change of the hour.
      extra: ['.events'],
      missing: ['.oneHourPriceChange'],
    })
    expect(differences).toEqual([])
  })

  it('shows events with the fields of the recorded ones', () => {
    const shown = venue.get('/gamma/events', { limit: '1' }).value as object[]
    const [recorded] = read('recorded/rust__gamma_event.json') as [Record<string, unknown>]
    const round = read('recorded/rust__gamma_market.json') as { events: object[] }
    const { events, ...market } = round
    const merged = { ...recorded, ...events[0], markets: [market] }
    const differences = shapeDifferences(shown, [merged], {
      anyText: true,
      missing: [...POLITICS, ...EDITORS],
      extra: ['.markets[].feeSchedule', '.markets[].liquidityAmm'],
    })
    expect(differences).toEqual([])
  })

  it('lists markets of the order books like the recorded page', () => {
    const page = venue.get('/clob/markets').value as { next_cursor: string }
    const recorded = read('recorded/py__http_responses__markets.json')
    const newer = read('recorded/rust__clob_market_closed_binary_accepting_true.json')
    const differences = shapeDifferences(
      [page],
      [recorded, { ...(recorded as object), data: [newer] }],
      { anyText: true, missing: ['.data[].rewards.rates[]'] },
    )
    expect(differences).toEqual([])
  })

  it('shows the short form like the recorded one', () => {
    const shown = venue.get(`/clob/clob-markets/${conditionOf(0)}`).value
    expect(shapeDifferences([shown], [read('rest/rest_clob-markets.json')])).toEqual([])
  })

  function conditionOf(index: number): string {
    const { data } = venue.get('/clob/markets').value as { data: { condition_id: string }[] }
    return data[index]!.condition_id
  }

  function resolvedFrames(): Frame[] {
    const local = createTestVenue()
    const client = local.connect()
    for (let round = 0; round < 20; round++) {
      const market = local.world.list({ openTime: START + round * 300_000 })
      client.say({
        assets_ids: local.tokens(market),
        type: 'market',
        custom_feature_enabled: true,
      })
      local.world.phase(market, 'resolved', { winner: 'first', endPrice: '1' })
    }
    const all = client.wire.take().flat() as Frame[]
    return all.filter(({ event_type }) => event_type === 'market_resolved')
  }
})

// Fields of an election that a round of five minutes does not have.
const POLITICS = [
  '.sortBy',
  '.negRiskMarketID',
  '.gmpChartMode',
  '.countryName',
  '.electionType',
  '.estimateValue',
  '.cumulativeMarkets',
  '.deployingTimestamp',
]

// Fields that only tags touched by an editor have.
const EDITORS = ['publishedAt', 'createdBy', 'updatedBy', 'forceHide', 'isCarousel'].map(
  (name) => `.tags[].${name}`,
)

function read(path: string): unknown {
  return JSON.parse(readFileSync(join(folder, path), 'utf8'))
}

function lines(path: string): unknown[] {
  const text = readFileSync(join(folder, path), 'utf8').trimEnd()
  return text.split('\n').map((line) => JSON.parse(line) as unknown)
}
