import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  parseMicros,
  PriorbookError,
  type BookChange,
  type MarketRecord,
  type TapeEvent,
} from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { AT } from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

/** Real payloads, found through PRIORBOOK_RECORDINGS and never committed. */
const root = process.env['PRIORBOOK_RECORDINGS']
const folder = join(resolve(root ?? '.'), 'venuec')

if (root === undefined) {
  console.warn(
    'recordings of venue C skipped: set PRIORBOOK_RECORDINGS to the folder of recordings',
  )
}

const normalizer = createVenueCNormalizer()

/** What each file is and what must come of it: the kinds of events, or the code of the refusal. */
const EXPECTED: Readonly<Record<string, { readonly as: string; readonly gives: string }>> = {
  'recorded/py__http_responses__book.json': { as: 'clob_book', gives: 'snapshot 5x7' },
  'recorded/py__http_responses__market.json': { as: 'clob_market', gives: 'market open' },
  'recorded/py__http_responses__markets.json': {
    as: 'clob_markets',
    gives: 'market closed x75, market open, market resolved x24',
  },
  'recorded/py__ws_messages__book.json': { as: 'frame', gives: 'snapshot 76x86' },
  'recorded/py__ws_messages__last_trade_price.json': { as: 'frame', gives: 'trade sell' },
  'recorded/py__ws_messages__price_change.json': { as: 'frame', gives: 'change 1' },
  'recorded/py__ws_messages__tick_size_change.json': { as: 'frame', gives: 'reset book_reset' },
  'recorded/rust__clob_market_closed_binary_accepting_false.json': {
    as: 'clob_market',
    gives: 'market resolved No',
  },
  'recorded/rust__clob_market_closed_binary_accepting_true.json': {
    as: 'clob_market',
    gives: 'market resolved Yes',
  },
  'recorded/rust__gamma_event.json': { as: 'gamma_events', gives: 'market open x2' },
  'recorded/rust__gamma_market.json': { as: 'gamma_market', gives: 'market open' },
  'recorded/rust__gamma_market_closed_binary_accepting_false.json': {
    as: 'gamma_market',
    gives: 'market resolved No',
  },
  // Gamma says 1 and 0 here but not that it is resolved; CLOB (above) names the winner.
  'recorded/rust__gamma_market_closed_binary_accepting_true.json': {
    as: 'gamma_market',
    gives: 'market closed',
  },
  'recorded/rust__gamma_market_closed_nonbinary_legacy.json': {
    as: 'gamma_market',
    gives: 'market closed',
  },
  'recorded/rust__gamma_market_closed_zero_zero_legacy.json': {
    as: 'gamma_market',
    gives: 'market closed',
  },
  'recorded/rust__gamma_market_sports_market_map_handicap.json': {
    as: 'gamma_market',
    gives: 'market resolved FaZe',
  },
  'recorded/rust__gamma_market_sports_market_money_line.json': {
    as: 'gamma_market',
    gives: 'market resolved FaZe',
  },
  'recorded/rust__gamma_tags.json': { as: 'gamma_markets', gives: 'invalid_id x5' },
  // What is sent on subscribing is of the past.
  'recorded/rust__rtds_crypto_prices_subscribe.json': { as: 'frame', gives: '' },
  'recorded/rust__rtds_crypto_prices_update.json': {
    as: 'frame',
    gives: 'sample reference/exchange/BTC 61035.86',
  },
  'recorded/rust__rtds_equity_prices_subscribe.json': { as: 'frame', gives: 'unknown_event' },
  'recorded/rust__rtds_equity_prices_update.json': { as: 'frame', gives: 'unknown_event' },
  'recorded/rust__search_response.json': { as: 'gamma_events', gives: 'market open' },
  'rest/book_trimmed_vance_2026-06-12.json': { as: 'clob_book', gives: 'snapshot 5x5' },
  'rest/prices-history_1m_vance_2026-06-12.json': { as: 'clob_book', gives: 'invalid_id' },
  'rest/rest_book_down.json': { as: 'clob_book', gives: 'snapshot 48x50' },
  'rest/rest_book_up.json': { as: 'clob_book', gives: 'snapshot 50x48' },
  'rest/rest_clob-markets.json': { as: 'clob_market', gives: 'market' },
  'shapes/py__http_responses__event.json': { as: 'gamma_event', gives: 'market x3' },
  'shapes/py__http_responses__events_list.json': { as: 'gamma_events', gives: 'market x3' },
  'shapes/py__http_responses__market_slug.json': { as: 'gamma_market', gives: 'market' },
  'shapes/py__http_responses__markets_list.json': {
    as: 'gamma_markets',
    gives: 'market closed, market x2',
  },
  'shapes/py__http_responses__trades.json': { as: 'clob_books', gives: 'invalid_id x4' },
  'shapes/py__ws_messages__price_change_v2.json': { as: 'frame', gives: 'change 3' },
  'shapes/py__ws_messages__trades.json': { as: 'frame', gives: 'invalid_message' },
  'shapes/rust__clob_book_response.json': { as: 'clob_book', gives: 'snapshot 3x3' },
  'shapes/rust__clob_fee_rate_response_nonzero.json': { as: 'clob_book', gives: 'invalid_id' },
  'shapes/rust__clob_fee_rate_response_zero.json': { as: 'clob_book', gives: 'invalid_id' },
  'shapes/rust__data_api_positions_response.json': { as: 'clob_books', gives: 'invalid_id x4' },
  'shapes/rust__data_api_trades_response.json': { as: 'clob_books', gives: 'invalid_id x3' },
  // The message shapes of one library leave out the type: the venue never does.
  'shapes/rust__ws_book_snapshot.json': { as: 'frame', gives: 'invalid_message' },
  'shapes/rust__ws_last_trade.json': { as: 'frame', gives: 'invalid_message' },
  'shapes/rust__ws_market_best_bid_ask_msg.json': { as: 'frame', gives: '' },
  'shapes/rust__ws_market_book_msg.json': { as: 'frame', gives: 'snapshot 2x2' },
  'shapes/rust__ws_market_last_trade_msg.json': { as: 'frame', gives: 'trade buy' },
  'shapes/rust__ws_market_new_market_msg.json': { as: 'frame', gives: '' },
  'shapes/rust__ws_market_price_change_msg.json': { as: 'frame', gives: 'change 1' },
  'shapes/rust__ws_market_resolved_msg.json': { as: 'frame', gives: 'market resolved Yes' },
  'shapes/rust__ws_market_tick_size_msg.json': { as: 'frame', gives: 'reset book_reset' },
  'shapes/rust__ws_quotes.json': { as: 'frame', gives: 'invalid_message' },
  'shapes/rust__ws_tick_size_change.json': { as: 'frame', gives: 'invalid_message' },
}

/** Files of many messages have tests of their own. */
const STREAMS = [
  'gamma/BTC-5m-markets-2026-06-08.jsonl.gz',
  'ws/market_channel_messages.jsonl',
  'ws/ws_new_market_frame.jsonl',
  'ws/ws_price_change_frames.jsonl',
]

describe.skipIf(root === undefined)('recordings of venue C', () => {
  it('are all listed here', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name).slice(folder.length + 1))
    expect(files.sort()).toStrictEqual([...Object.keys(EXPECTED), ...STREAMS].sort())
  })

  it.each(Object.entries(EXPECTED))('give what is expected: %s', (name, { as, gives }) => {
    expect(whatComesOf(as, JSON.parse(read(name)))).toBe(gives)
  })

  it('give every event type of the edited messages', () => {
    const seen = linesOf('ws/market_channel_messages.jsonl').map((line) =>
      whatComesOf('frame', JSON.parse(line)),
    )
    expect(seen).toStrictEqual([
      'snapshot 2x1',
      'snapshot 1x1 x2',
      'change 1 x2',
      'change 1',
      'change 2',
      '',
      '',
      'trade buy',
      'trade sell',
      'invalid_message',
      'invalid_message',
      'reset book_reset',
      '',
      'market resolved Yes',
    ])
  })

  it('skip a new market that is not a crypto round', () => {
    const [line] = linesOf('ws/ws_new_market_frame.jsonl')
    const { raw_frame } = JSON.parse(line!) as Frame
    expect(whatComesOf('frame', JSON.parse(raw_frame))).toBe('')
  })

  it('have 292 resolved rounds of one day', () => {
    const markets = linesOf('gamma/BTC-5m-markets-2026-06-08.jsonl.gz').map(
      (line) => JSON.parse(line) as GammaLine,
    )
    const raws = markets.map(({ raw }) => raw)
    const { events, problems } = normalizer.answer({ kind: 'gamma_markets' }, raws, AT)
    expect(problems).toStrictEqual([])
    const records = events.map((event) => (event as { record: MarketRecord }).record)
    expect(tally(records.map((one) => `${one.status} ${one.winningOutcome}`))).toBe(
      'resolved Down x155, resolved Up x137',
    )
    const faults = records.filter((record, index) => {
      const line = markets[index]!
      return !(
        record.marketId === line.condition_id &&
        record.slug === line.slug &&
        record.asset === 'BTC' &&
        record.window === '5m' &&
        record.openTime === line.start_sec * 1_000_000 &&
        record.closeTime === line.end_sec * 1_000_000 &&
        record.resolvedTime! > record.closeTime &&
        record.resolution?.payouts?.join() === line.outcome_prices.join() &&
        record.outcomes.map(({ tokenId }) => tokenId).join() === line.token_ids.join() &&
        record.outcomes.map(({ label }) => label).join() === 'Up,Down'
      )
    })
    expect(records).toHaveLength(292)
    expect(faults).toStrictEqual([])
  })

  // The recorded books are 572 s older than the first frame, so that the frames cannot be folded on
  // them; what can be checked is that changes and claims of the frames do not contradict each other.
  it('have price changes whose claims agree with the changes and with the other token', () => {
    const frames = linesOf('ws/ws_price_change_frames.jsonl').map(
      (line) => JSON.parse(line) as Frame,
    )
    const lastSource = new Map<string, number>()
    let backwards = 0
    let changes = 0
    let contradictions = 0
    for (const [index, { received_at, raw_frame }] of frames.entries()) {
      const received = parseMicros(received_at)
      const at = { received, journal: index }
      const said = normalizer.frame(JSON.parse(raw_frame), at)
      expect(said.problems).toStrictEqual([])
      const [first, second] = said.events as [BookChange, BookChange]
      expect(said.events).toHaveLength(2)
      expect(mirror(first.claims!)).toStrictEqual(second.claims)
      for (const change of [first, second]) {
        const { claims, instrument, source } = change
        if (source! < (lastSource.get(instrument.key) ?? 0)) backwards++
        lastSource.set(instrument.key, source!)
        for (const { side, price, size } of change.changes) {
          changes++
          const isBeyond = side === 'bid' ? price > claims!.bestBid! : price < claims!.bestAsk!
          if (size > 0 && isBeyond) contradictions++
        }
      }
    }
    expect({ frames: frames.length, changes, contradictions, backwards }).toStrictEqual({
      frames: 27,
      changes: 54,
      contradictions: 0,
      backwards: 0,
    })
  })

  it('have two books that mirror each other', () => {
    const [up, down] = ['rest/rest_book_up.json', 'rest/rest_book_down.json'].map((name) => {
      const [book] = normalizer.answer({ kind: 'clob_book' }, JSON.parse(read(name)), AT).events
      if (book?.kind !== 'snapshot') throw new Error('no book')
      return book
    })
    const turned = (levels: readonly { price: number; size: number }[]) =>
      levels.map(({ price, size }) => ({ price: 10_000 - price, size }))
    expect(turned(down!.asks)).toStrictEqual(up!.bids)
    expect(turned(down!.bids)).toStrictEqual(up!.asks)
  })
})

type Frame = { readonly received_at: string; readonly raw_frame: string }

type GammaLine = {
  readonly slug: string
  readonly condition_id: string
  readonly token_ids: readonly string[]
  readonly start_sec: number
  readonly end_sec: number
  readonly outcome_prices: readonly string[]
  readonly raw: unknown
}

function whatComesOf(as: string, value: unknown): string {
  try {
    const { events, problems } =
      as === 'frame' ? normalizer.frame(value, AT) : normalizer.answer({ kind: as }, value, AT)
    return tally([...events.map(describeEvent), ...problems.map(({ error }) => error.code)])
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
}

function describeEvent(event: TapeEvent): string {
  switch (event.kind) {
    case 'snapshot':
      return `snapshot ${event.bids.length}x${event.asks.length}`
    case 'change':
      return `change ${event.changes.length}`
    case 'reset':
      return `reset ${event.reason}`
    case 'trade':
      return `trade ${event.taker}`
    case 'market': {
      const { status, winningOutcome } = event.record
      const isPage = event.record.native['clob'] !== undefined && PAGE.has(event.record.marketId)
      return ['market', status, isPage ? undefined : winningOutcome].filter(Boolean).join(' ')
    }
    case 'sample':
      return `sample ${event.instrument.key} ${event.value}`
    case 'gap':
      return event.kind
  }
}

// On the page of a hundred markets every winner has another name: only the statuses are counted.
const PAGE = new Set(
  root === undefined
    ? []
    : (
        JSON.parse(read('recorded/py__http_responses__markets.json')) as {
          data: { condition_id: string }[]
        }
      ).data.map(({ condition_id }) => condition_id),
)

function tally(words: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts]
    .map(([word, count]) => (count === 1 ? word : `${word} x${count}`))
    .sort()
    .join(', ')
}

function mirror({ bestBid, bestAsk }: NonNullable<BookChange['claims']>): object {
  const turn = (price: number | undefined) => (price === undefined ? undefined : 10_000 - price)
  return { bestBid: turn(bestAsk), bestAsk: turn(bestBid) }
}

function read(name: string): string {
  const bytes = readFileSync(join(folder, name))
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
}

function linesOf(name: string): string[] {
  return read(name).trimEnd().split('\n')
}
