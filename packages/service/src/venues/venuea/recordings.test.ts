import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { BookSnapshot, MarketRecord, TapeEvent } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import type { CaptureRequest } from '../capture/contract.ts'
import { codeOf } from '../capture/refusals.testing.ts'
import { AT } from './fixtures.testing.ts'
import { createVenueANormalizer } from './normalize.ts'

/** Real payloads, found through PRIORBOOK_RECORDINGS and never committed. */
const root = process.env['PRIORBOOK_RECORDINGS']
const folder = join(resolve(root ?? '.'), 'venuea')
const normalizer = createVenueANormalizer()

if (root === undefined) {
  console.warn(
    'recordings of venue A skipped: set PRIORBOOK_RECORDINGS to the folder of recordings',
  )
}

/** Every file of the folder and the test that reads it: a new file must find its place here. */
const FILES: Readonly<Record<string, () => void>> = {
  'binance/doc_examples/category_list.json': () => {
    expect(answer({ kind: 'categories' }, 'binance/doc_examples/category_list.json')).toEqual([])
  },
  'binance/doc_examples/last_trade_price.json': () => {
    expect(lastTrade('5567895', 'binance/doc_examples/last_trade_price.json')).toBe('0.52')
  },
  'binance/doc_examples/market_detail.json': () => {
    const value = json('binance/doc_examples/market_detail.json')
    const { events, problems } = normalizer.answer({ kind: 'topic' }, value, AT)
    // The example holds the word `endPrice` where the price would stand.
    expect(problems.map(({ where, error }) => `${where} ${error.code}`)).toStrictEqual([
      'topic.markets[0].variantData.endPrice invalid_decimal',
    ])
    expect(recordsOf(events)).toMatchObject([
      {
        marketId: '5567895',
        topicId: '4229564',
        asset: 'BTC',
        window: '1h',
        status: 'open',
        chain: '56',
        volume: '90000',
        liquidity: '25000',
        participantCount: 3420,
        conditionId: '0xabc123',
        resolution: {
          state: 'none',
          source: 'BINANCE',
          reference: { feed: 'BTCUSDT', startPrice: '67890.12' },
        },
        outcomes: [{ label: 'YES', index: 0, tokenId: '112233', externalId: 'ext_001' }],
      },
    ])
    expect(
      events.flatMap((event) => (event.kind === 'sample' ? [[event.metric, event.value]] : [])),
    ).toStrictEqual([
      ['chance', '0.52'],
      ['price', '0.52'],
    ])
  },
  'binance/doc_examples/market_list.json': () => {
    expectEmptyMarket({ kind: 'topics' }, 'binance/doc_examples/market_list.json')
  },
  'binance/doc_examples/market_search.json': () => {
    expectEmptyMarket({ kind: 'search' }, 'binance/doc_examples/market_search.json')
  },
  'binance/doc_examples/order_book.json': () => {
    const request = { kind: 'book', market_id: '5567895', token_id: '112233', outcome_index: 0 }
    expect(answer(request, 'binance/doc_examples/order_book.json')).toMatchObject([
      {
        bids: [{ price: 510_000, size: 500_000_000_000 }],
        asks: [{ price: 520_000, size: 300_000_000_000 }],
        source: 1_748_131_800_000_000,
      },
    ])
  },
  'binance/recorded/address_positions_btc5m_2026-08-26.jsonl': () => {
    // Positions of an address, which are not market data and are refused for every request.
    const positions = lines('binance/recorded/address_positions_btc5m_2026-08-26.jsonl')
    expect(positions).toHaveLength(4)
    for (const position of positions) {
      expect(codeOf(() => normalizer.frame(position, AT))).toBe('invalid_message')
      expect(codeOf(() => normalizer.answer({ kind: 'topic' }, position, AT))).toBe(
        'invalid_message',
      )
    }
  },
  'binance/recorded/last_trade_price_2860.json': () => {
    expect(lastTrade('2860', 'binance/recorded/last_trade_price_2860.json')).toBe('0.99')
  },
  'binance/recorded/order_book_5992559_yes_2026-07-29.json': () => {
    const path = 'binance/recorded/order_book_5992559_yes_2026-07-29.json'
    const request = { kind: 'book', market_id: '5992559', outcome_index: 0 }
    const [book, ...others] = answer(request, path) as BookSnapshot[]
    expect(others).toHaveLength(0)
    expect(book!.source).toBe(1_785_329_122_855_000)
    expect([book!.bids.length, book!.asks.length]).toStrictEqual([17, 32])
    expect(book!.bids[1]).toStrictEqual({ price: 250_000, size: 1_424_454_333_333 })
    expect(book!.asks[0]).toStrictEqual({ price: 300_000, size: 1_336_000_000 })
    expectBestFirst(book!)
  },
  'predict-fun/recorded/categories_eth_updown_15m_2026-08-26.json': () => {
    const path = 'predict-fun/recorded/categories_eth_updown_15m_2026-08-26.json'
    expect(recordsOf(answer({ kind: 'predict_market' }, path))).toMatchObject([
      {
        marketId: '1739803',
        topicId: '405022',
        slug: 'eth-updown-15m-1787839200',
        asset: 'ETH',
        window: '15m',
        status: 'open',
        openTime: 1_787_839_200_000_000,
        closeTime: 1_787_840_100_000_000,
        createdTime: 1_787_752_820_780_000,
        questionId: '0x6ab55f25f108508e7c6cc9bb22e3304d3fcecd0771d741fdf6d67e6b7ab9af2c',
        exchangeContract: '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689',
        resolution: { state: 'none', source: 'CHAINLINK', reference: { feed: 'ETHUSDT' } },
        outcomes: [
          { label: 'Up', index: 0 },
          { label: 'Down', index: 1 },
        ],
      },
    ])
  },
  'predict-fun/recorded/rest_orderbook_testnet_393.json': () => {
    expectPredictBook('393', [2, 2], 'predict-fun/recorded/rest_orderbook_testnet_393.json')
  },
  'predict-fun/recorded/rest_orderbook_testnet_72829.json': () => {
    expectPredictBook('72829', [3, 3], 'predict-fun/recorded/rest_orderbook_testnet_72829.json')
  },
  'predict-fun/recorded/ws_orderbook_frames.jsonl': () => {
    const books = lines('predict-fun/recorded/ws_orderbook_frames.jsonl').map(
      (frame) => normalizer.frame(frame, AT).events[0] as BookSnapshot,
    )
    const shown = books.map(({ instrument, bids, asks, source }) =>
      [instrument.key, bids.length, asks.length, source].join(' '),
    )
    expect(shown).toStrictEqual([
      '347806 11 7 1778974347572000',
      '347806 10 7 1778974347762000',
      '347806 11 8 1778974348116000',
      '1047104 0 7 1785441600079000',
    ])
    books.forEach(expectBestFirst)
  },
  'predict-fun/sanitized/btc_liquidity_samples.jsonl': () => {
    // Derived by a client of the venue, not in a shape of the venue itself.
    for (const line of lines('predict-fun/sanitized/btc_liquidity_samples.jsonl')) {
      expect(codeOf(() => normalizer.frame(line, AT))).toBe('invalid_message')
    }
  },
  'predict-fun/sanitized/categories_crypto.json': () => {
    const path = 'predict-fun/sanitized/categories_crypto.json'
    expect(recordsOf(answer({ kind: 'predict_market' }, path))).toMatchObject([
      { marketId: '1345674', asset: 'BTC', window: '5m', status: 'open' },
    ])
  },
  'predict-fun/sanitized/markets_open.json': () => {
    const path = 'predict-fun/sanitized/markets_open.json'
    const [record] = recordsOf(answer({ kind: 'predict_market' }, path))
    expect(record).toMatchObject({
      marketId: '424242',
      status: 'open',
      exchangeContract: '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5',
    })
    expect(record).not.toHaveProperty('winningOutcome')
  },
  'predict-fun/sanitized/orderbook.json': () => {
    expectPredictBook('424242', [2, 2], 'predict-fun/sanitized/orderbook.json')
  },
}

describe.skipIf(root === undefined)('recordings of venue A', () => {
  it('are all read', () => {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    expect(found.sort()).toStrictEqual(Object.keys(FILES).sort())
  })

  it.each(Object.entries(FILES))('%s', (_path, test) => {
    expect.hasAssertions()
    test()
  })
})

function json(path: string): unknown {
  return JSON.parse(readFileSync(join(folder, path), 'utf8'))
}

function lines(path: string): unknown[] {
  const text = readFileSync(join(folder, path), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

function answer(request: CaptureRequest, path: string): readonly TapeEvent[] {
  const { events, problems } = normalizer.answer(request, json(path), AT)
  expect(problems).toStrictEqual([])
  return events
}

function recordsOf(events: readonly TapeEvent[]): MarketRecord[] {
  return events.flatMap((event) => (event.kind === 'market' ? [event.record] : []))
}

function lastTrade(market: string, path: string): string {
  const [sample] = answer({ kind: 'last_trade', market_id: market, token_id: '1' }, path)
  if (sample?.kind !== 'sample') throw new Error('no sample')
  return sample.value
}

// The examples of lists show `markets: [{}]`: a market without a single field.
function expectEmptyMarket(request: CaptureRequest, path: string): void {
  const { events, problems } = normalizer.answer(request, json(path), AT)
  expect(events).toStrictEqual([])
  expect(problems.map(({ error }) => error.code)).toStrictEqual(['invalid_id'])
}

function expectPredictBook(market: string, counts: readonly number[], path: string): void {
  const [book] = answer({ kind: 'predict_book', market_id: market }, path) as BookSnapshot[]
  expect(book!.instrument.key).toBe(market)
  expect([book!.bids.length, book!.asks.length]).toStrictEqual(counts)
  expectBestFirst(book!)
}

function expectBestFirst({ bids, asks }: BookSnapshot): void {
  const prices = (levels: BookSnapshot['bids']): number[] => levels.map(({ price }) => price)
  expect(prices(bids)).toStrictEqual(prices(bids).sort((a, b) => b - a))
  expect(prices(asks)).toStrictEqual(prices(asks).sort((a, b) => a - b))
}
