import { toMicros, type TapeEvent } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  bookMessage,
  changeMessage,
  DOWN,
  entry,
  flatChangeMessage,
  listChangeMessage,
  MARKET,
  mirrorEntry,
  newMarketMessage,
  resolvedMessage,
  SLUG,
  tickMessage,
  tradeMessage,
  UP,
} from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

const normalizer = createVenueCNormalizer()
const frame = (value: unknown) => normalizer.frame(value, AT)
const eventsOf = (value: unknown): readonly TapeEvent[] => {
  const { events, problems } = frame(value)
  expect(problems).toStrictEqual([])
  return events
}
const codeFor = (value: unknown) => codeOf(() => frame(value))

const up = { venue: 'venuec', market: MARKET, key: UP }
const down = { venue: 'venuec', market: MARKET, key: DOWN }
const source = toMicros(1_790_000_000_123_000)
const observed = { ...AT, source }
const bids = [
  { price: 100, size: 505_000_000 },
  { price: 4800, size: 15_250_000 },
]
const asks = [
  { price: 9900, size: 2_501_000_000 },
  { price: 5000, size: 1 },
]
const snapshot = { kind: 'snapshot', instrument: up, bids, asks, ...observed }
const upChange = { price: 4700, size: 100_000_000, side: 'bid' }
const downChange = { price: 5300, size: 100_000_000, side: 'ask' }
const change = { kind: 'change', instrument: up, signed: false, ...observed }
const claims = { bestBid: 4800, bestAsk: 5000 }

it('has a version', () => {
  expect(normalizer.version).toBe(5)
})

describe('book', () => {
  it('gives a full book in the order sent', () => {
    expect(eventsOf(bookMessage())).toStrictEqual([snapshot])
  })

  it('accepts a list of books', () => {
    const other = bookMessage({ asset_id: DOWN, bids: [], asks: null })
    expect(eventsOf([bookMessage(), other])).toStrictEqual([
      snapshot,
      { ...snapshot, instrument: down, bids: [], asks: [] },
    ])
  })

  it('has no source time where the venue gave none', () => {
    const { source: _source, ...untimed } = snapshot
    expect(eventsOf(bookMessage({ timestamp: '' }))).toStrictEqual([untimed])
  })

  it('accepts 999 levels', () => {
    const levels = Array.from({ length: 999 }, (_, index) => ({
      price: `0.${String(index + 1).padStart(3, '0')}`,
      size: '1',
    }))
    const [book] = eventsOf(bookMessage({ bids: levels, asks: [] }))
    expect(book).toMatchObject({ kind: 'snapshot' })
    expect(book?.kind === 'snapshot' && book.bids.length).toBe(999)
  })

  it.each([
    ['invalid_decimal', { bids: [{ price: 'cheap', size: '1' }] }],
    ['invalid_decimal', { bids: [{ price: '0.5', size: {} }] }],
    ['unrepresentable', { bids: [{ price: '0.50001', size: '1' }] }],
    ['unrepresentable', { bids: [{ price: '0.5', size: '0.0000001' }] }],
    ['unrepresentable', { bids: [{ price: '0.5', size: '1e308' }] }],
    ['invalid_message', { bids: [{ price: '0.5', size: '0' }] }],
    ['invalid_message', { bids: [{ price: '0.5', size: '-1' }] }],
    ['invalid_message', { bids: [['0.5', '1']] }],
    ['invalid_message', { bids: 'none' }],
    ['invalid_message', { bids: deepValue() }],
    ['invalid_message', { bids: undefined, asks: undefined }],
    ['invalid_time', { timestamp: 'noon' }],
    ['invalid_time', { timestamp: '99999999999999999' }],
    ['invalid_time', { timestamp: 1.5 }],
  ])('reports %s and closes the book: %#', (code, changes) => {
    const { events, problems } = frame(bookMessage(changes))
    expect(problems.map(({ error }) => error.code)).toStrictEqual([code])
    expect(events).toStrictEqual([{ kind: 'reset', instrument: up, reason: 'rejected', ...AT }])
  })

  it.each([
    ['invalid_id', { asset_id: '' }],
    ['invalid_id', { asset_id: 5 }],
    ['invalid_id', { market: undefined }],
  ])('refuses with %s a book of no token: %#', (code, changes) => {
    expect(codeFor(bookMessage(changes))).toBe(code)
  })
})

describe('price_change', () => {
  it('gives one change per token with the best prices that the venue claims after it', () => {
    expect(eventsOf(changeMessage())).toStrictEqual([
      { ...change, changes: [upChange], claims },
      {
        ...change,
        instrument: down,
        changes: [downChange],
        claims: { bestBid: 5000, bestAsk: 5200 },
      },
    ])
  })

  it('merges all changes of a token in order, and claims the last', () => {
    const first = changeMessage([entry({ size: '1' }), mirrorEntry(), entry({ size: '0' })])
    const second = changeMessage([entry({ price: '0.46', best_bid: '0.46' })])
    expect(eventsOf([first, { ...second, timestamp: '1790000000124' }])).toStrictEqual([
      {
        ...change,
        source: source + 1000,
        changes: [
          { ...upChange, size: 1_000_000 },
          { ...upChange, size: 0 },
          { ...upChange, price: 4600 },
        ],
        claims: { bestBid: 4600, bestAsk: 5000 },
      },
      expect.objectContaining({ instrument: down, changes: [downChange], source }),
    ])
  })

  it.each([
    [
      { best_bid: '0', best_ask: '0.01' },
      { bestBid: undefined, bestAsk: 100 },
    ],
    [
      { best_bid: '0.99', best_ask: '1' },
      { bestBid: 9900, bestAsk: undefined },
    ],
    [
      { best_bid: '0', best_ask: '0' },
      { bestBid: undefined, bestAsk: undefined },
    ],
  ])('reads %j as an empty side', (words, said) => {
    expect(eventsOf(changeMessage([entry(words)]))).toStrictEqual([
      { ...change, changes: [upChange], claims: said },
    ])
  })

  it.each([
    [{ best_bid: undefined, best_ask: undefined }],
    [{ best_bid: '' }],
    [{ best_ask: null }],
  ])('claims nothing where a best price is missing: %j', (words) => {
    expect(eventsOf(changeMessage([entry(words)]))).toStrictEqual([
      { ...change, changes: [upChange] },
    ])
  })

  it('reads the form of 2024', () => {
    expect(eventsOf(flatChangeMessage())).toStrictEqual([
      { ...change, changes: [{ price: 5140, size: 21_574_080_000, side: 'ask' }] },
    ])
  })

  it('reads the form of 2025', () => {
    const level = { price: 4000, side: 'ask' }
    expect(eventsOf(listChangeMessage())).toStrictEqual([
      {
        ...change,
        changes: [
          { ...level, size: 3_300_000_000 },
          { ...level, size: 0 },
        ],
      },
    ])
  })

  it('gives no event where nothing changed', () => {
    expect(eventsOf(changeMessage([]))).toStrictEqual([])
  })

  it.each([
    ['invalid_message', { side: 'buy' }],
    ['invalid_message', { size: '-1' }],
    ['invalid_message', { price: null }],
    ['invalid_decimal', { price: 'x' }],
    ['unrepresentable', { size: '1.0000001' }],
    ['invalid_decimal', { best_bid: 'x' }],
  ])('reports %s of one entry, closes its book and keeps the other: %#', (code, changes) => {
    const { events, problems } = frame(changeMessage([entry(changes), mirrorEntry()]))
    expect(problems).toMatchObject([{ where: UP, error: { code } }])
    expect(events).toMatchObject([
      { kind: 'reset', instrument: up, reason: 'rejected', source },
      { kind: 'change', instrument: down },
    ])
  })

  it('reports an entry without a token and keeps the others', () => {
    const { events, problems } = frame(changeMessage([entry({ asset_id: null }), 5, mirrorEntry()]))
    expect(problems.map(({ error }) => error.code)).toStrictEqual(['invalid_id', 'invalid_message'])
    expect(events).toMatchObject([{ kind: 'change', instrument: down }])
  })

  it('closes the books of all its tokens where its time is malformed', () => {
    const { events, problems } = frame({ ...changeMessage(), timestamp: 'x' })
    expect(problems).toMatchObject([{ where: '', error: { code: 'invalid_time' } }])
    const reset = { kind: 'reset', reason: 'rejected', ...AT }
    expect(events).toStrictEqual([
      { ...reset, instrument: up },
      { ...reset, instrument: down },
    ])
  })

  it.each([
    ['invalid_message', { price_changes: 'x' }],
    ['invalid_message', { price_changes: undefined, changes: {} }],
    ['invalid_message', { price_changes: undefined }],
  ])('refuses with %s the changes %#', (code, changes) => {
    expect(codeFor({ ...changeMessage(), ...changes })).toBe(code)
  })
})

describe('several messages of one token in a frame', () => {
  it('folds changes after a book into the book', () => {
    const changes = changeMessage([
      entry({ price: '.48', size: '0' }),
      entry({ price: '0.5', side: 'SELL', size: '7' }),
      entry({ price: '0.51', side: 'SELL', size: '8' }),
      entry({ price: '0.3', size: '0' }),
    ])
    expect(eventsOf([bookMessage(), { ...changes, timestamp: '1790000000124' }])).toStrictEqual([
      {
        ...snapshot,
        source: source + 1000,
        bids: [bids[0]],
        asks: [asks[0], { price: 5000, size: 7_000_000 }, { price: 5100, size: 8_000_000 }],
      },
    ])
  })

  it('lets a book supersede everything before it', () => {
    const first = [changeMessage([entry()]), tickMessage(), changeMessage([entry()])]
    expect(eventsOf([...first, bookMessage()])).toStrictEqual([snapshot])
  })

  it('resets after a change, and separates changes after the reset', () => {
    const frames = [changeMessage([entry()]), tickMessage(), changeMessage([entry({ size: '1' })])]
    expect(eventsOf(frames)).toStrictEqual([
      { ...change, changes: [upChange], claims },
      { kind: 'reset', instrument: up, reason: 'book_reset', ...observed },
      { ...change, changes: [{ ...upChange, size: 1_000_000 }] },
    ])
  })

  it('keeps the rest of a list with malformed objects', () => {
    const { events, problems } = frame([
      5,
      bookMessage({ bids: 5 }),
      { event_type: 'sonnet' },
      tradeMessage({ size: '0' }),
      changeMessage([mirrorEntry()]),
    ])
    expect(problems.map(({ where, error }) => [where, error.code])).toStrictEqual([
      ['[0]', 'invalid_message'],
      ['[1]', 'invalid_message'],
      ['[2]', 'unknown_event'],
      ['[3]', 'invalid_message'],
    ])
    expect(events).toMatchObject([
      { kind: 'reset', instrument: up },
      { kind: 'change', instrument: down },
    ])
  })

  it('gives no event for an empty list', () => {
    expect(eventsOf([])).toStrictEqual([])
  })
})

describe('last_trade_price', () => {
  const trade = {
    kind: 'trade',
    instrument: up,
    price: 6000,
    size: 100_000_000,
    taker: 'buy',
    tradeId: `0xfeed-${UP}-0.6-100-BUY-1790000000123`,
    native: {
      side: 'BUY',
      price: '0.60',
      size: '100',
      fee_rate_bps: '0',
      transaction_hash: '0xfeed',
    },
    ...observed,
  }

  it('gives a trade in the terms of its token', () => {
    expect(eventsOf(tradeMessage())).toStrictEqual([trade])
    const native = { ...trade.native, side: 'SELL', price: '0.6' }
    expect(eventsOf(tradeMessage({ side: 'SELL', price: '0.6' }))).toStrictEqual([
      { ...trade, taker: 'sell', tradeId: `0xfeed-${UP}-0.6-100-SELL-1790000000123`, native },
    ])
  })

  it('has the same id when it is delivered again, and different ids for different trades', () => {
    const prints: object[] = [
      {},
      { size: '101' },
      { price: '0.61' },
      { side: 'SELL' },
      { asset_id: DOWN },
      { timestamp: '1790000000124' },
      { transaction_hash: '0xbeef' },
      { transaction_hash: undefined },
      { transaction_hash: undefined, side: '' },
    ]
    const ids = prints.map((print) => idOf(print))
    expect(new Set(ids).size).toBe(prints.length)
    expect(idOf({ price: '.600', size: '100.0' })).toBe(ids[0])
  })

  it('has no taker where the side is absent', () => {
    const [print] = eventsOf(tradeMessage({ side: '', timestamp: undefined }))
    expect(print).toStrictEqual({
      kind: 'trade',
      instrument: up,
      price: 6000,
      size: 100_000_000,
      tradeId: `0xfeed-${UP}-0.6-100`,
      native: { ...trade.native, side: '' },
      ...AT,
    })
  })

  it.each([
    ['invalid_message', { side: 'up' }],
    ['invalid_message', { size: '0' }],
    ['invalid_message', { size: undefined }],
    ['invalid_decimal', { price: 'x' }],
    ['invalid_id', { asset_id: undefined }],
    ['invalid_message', { transaction_hash: 5 }],
  ])('refuses with %s the trade %#', (code, changes) => {
    expect(codeFor(tradeMessage(changes))).toBe(code)
  })

  function idOf(changes: object): string {
    const [event] = eventsOf(tradeMessage({ ...changes }))
    return event?.kind === 'trade' ? event.tradeId : ''
  }
})

describe('announcements', () => {
  const known = {
    venue: 'venuec',
    marketId: MARKET,
    conditionId: MARKET,
    gammaMarketId: '3145195',
  }

  it('gives a new round as scheduled', () => {
    const message = newMarketMessage()
    expect(eventsOf(message)).toMatchObject([
      {
        kind: 'market',
        source,
        record: {
          ...known,
          status: 'scheduled',
          slug: SLUG,
          asset: 'BTC',
          window: '5m',
          openTime: 1_789_999_800_000_000,
          eventId: '759201',
          outcomes: [
            { label: 'Up', index: 0, tokenId: UP },
            { label: 'Down', index: 1, tokenId: DOWN },
          ],
          native: { new_market: message },
        },
      },
    ])
  })

  it('leaves the status of an active new round open', () => {
    const [event] = eventsOf(newMarketMessage({ active: true }))
    expect(event?.kind === 'market' && event.record.status).toBeUndefined()
  })

  it.each([['will-it-rain'], ['btc-updown-5m-x'], ['btc-updown-5m-17899998000000'], [undefined]])(
    'passes over the new market %s',
    (slug) => {
      expect(eventsOf(newMarketMessage({ slug }))).toStrictEqual([])
    },
  )

  it.each([
    ['doge-updown-15m-1789999800', 'DOGE', '15m'],
    ['hype-updown-4h-1789999800', 'HYPE', '4h'],
    ['bitcoin-up-or-down-june-7-8pm-et', 'BTC', '1h'],
    ['ethereum-up-or-down-june-7-2026-12am-et', 'ETH', '1h'],
    ['solana-up-or-down-on-june-7', 'SOL', '1d'],
  ])('knows the round %s', (slug, asset, window) => {
    expect(eventsOf(newMarketMessage({ slug }))).toMatchObject([{ record: { asset, window } }])
  })

  it('gives a resolution with payouts in the order of the tokens', () => {
    expect(eventsOf(resolvedMessage())).toMatchObject([
      {
        kind: 'market',
        record: {
          ...known,
          status: 'resolved',
          resolvedTime: source,
          winningOutcome: 'Down',
          outcomes: [],
          resolution: { state: 'final', payouts: ['0', '1'], times: { settled: source } },
        },
      },
    ])
  })

  it('gives the outcomes of a resolution that names them', () => {
    const said = resolvedMessage({ slug: SLUG, outcomes: ['Up', 'Down'] })
    expect(eventsOf(said)).toMatchObject([{ record: { outcomes: [{ label: 'Up' }, {}] } }])
    expect(eventsOf(resolvedMessage({ slug: 'will-it-rain' }))).toStrictEqual([])
  })

  it.each([
    ['invalid_id', resolvedMessage({ winning_asset_id: undefined })],
    ['invalid_id', resolvedMessage({ market: 5 })],
    ['invalid_message', newMarketMessage({ outcomes: '[' })],
    ['invalid_message', newMarketMessage({ active: 'yes' })],
  ])('refuses with %s the announcement %#', (code, message) => {
    expect(codeFor(message)).toBe(code)
  })
})

describe('other frames', () => {
  it('gives no event for best prices alone', () => {
    expect(eventsOf({ event_type: 'best_bid_ask', best_bid: '0', best_ask: '0' })).toStrictEqual([])
  })

  it.each([
    ['unknown_event', { event_type: 'sonnet' }],
    ['invalid_message', { event_type: 5 }],
    ['invalid_message', { gameId: 19439, slug: 'mci-liv' }],
    ['invalid_message', null],
    ['invalid_message', 'PONG'],
    ['invalid_message', undefined],
  ])('refuses with %s the frame %#', (code, value) => {
    expect(codeFor(value)).toBe(code)
  })
})

describe('suspects of an unreadable frame', () => {
  it.each([
    ['all', undefined],
    ['all', 5],
    ['all', bookMessage({ asset_id: 5 })],
    ['all', bookMessage({ event_type: 5 })],
    ['all', changeMessage([])],
    ['none', { event_type: 'sonnet' }],
    ['none', tradeMessage({ price: 'x' })],
    ['none', { gameId: 19439 }],
  ])('are %s of frame %#', (suspects, value) => {
    expect(normalizer.suspects?.(value)).toBe(suspects)
  })
})

describe('clob_book', () => {
  const request = { kind: 'clob_book', token_id: UP, condition_id: MARKET }
  const answer = (value: unknown, asked: object = request) =>
    normalizer.answer({ kind: 'clob_book', ...asked }, value, AT)

  it('gives a full book', () => {
    const { event_type: _type, ...book } = bookMessage()
    expect(answer(book)).toStrictEqual({ events: [snapshot], problems: [] })
  })

  it('uses market and token of the request where the answer names none', () => {
    const { bids: said, asks: offered } = bookMessage()
    expect(answer({ bids: said, asks: offered }).events).toMatchObject([{ instrument: up, bids }])
  })

  it.each([
    ['invalid_message', bookMessage({ asset_id: DOWN })],
    ['invalid_message', bookMessage({ market: '0x1' })],
    ['invalid_message', { error: 'No orderbook exists' }],
    ['invalid_message', []],
  ])('refuses with %s the answer %#', (code, value) => {
    expect(codeOf(() => answer(value))).toBe(code)
  })

  it('accepts a list of books, without the malformed ones', () => {
    const list = [bookMessage(), bookMessage({ bids: 5 }), 5]
    const { events, problems } = normalizer.answer({ kind: 'clob_books' }, list, AT)
    expect(events).toStrictEqual([snapshot])
    expect(problems.map(({ where }) => where)).toStrictEqual(['[1]', '[2]'])
  })

  it('refuses an answer to an unknown request', () => {
    expect(codeOf(() => normalizer.answer({ kind: 'poem' }, {}, AT))).toBe('unknown_event')
  })
})
