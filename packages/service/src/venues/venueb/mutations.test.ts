import { expect, it } from 'vitest'
import { normalizeCatalogAnswer } from './catalog.ts'
import { codesOfMutated } from '../capture/mutations.testing.ts'
import {
  AT,
  currentSides,
  deltaMessage,
  eventObject,
  legacyMarketObject,
  lifecycleMessage,
  marketObject,
  snapshotMessage,
  TICKER,
  tradeMessage,
  tradeObject,
} from './fixtures.testing.ts'
import { createVenueBNormalizer, normalizeOrderbookAnswer, normalizeVenueB } from './normalize.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'

/** A normalizer answers any input with events or a PriorbookError, never with another error. */

const messages = [
  () => snapshotMessage(),
  () => snapshotMessage({ yes: [[8, 444]], no: [[88, 1967]] }),
  () => deltaMessage(),
  () => deltaMessage({ price_dollars: undefined, price: 41, delta_fp: undefined, delta: 3 }),
  () => tradeMessage(),
  () => ({ type: 'ok', sid: 1, seq: 2, msg: { market_tickers: [TICKER] } }),
]

const books = [
  () => ({ orderbook_fp: currentSides() }),
  () => ({ orderbook: { yes: [[8, 444]], no: null } }),
  () => ({ [TICKER]: { _yes: [[8, 444]], _no: [[88, 1967]] } }),
]

const catalogs = [
  () => ({ event: eventObject(), markets: [marketObject(), legacyMarketObject()] }),
  () => ({ event: { ...eventObject(), markets: [marketObject()] } }),
  () => ({ market: marketObject() }),
  () => ({ markets: [marketObject(), legacyMarketObject()], cursor: 'abc' }),
]

it('holds for mutated messages of the socket', () => {
  const codes = codesOf(messages, (value) => normalizeVenueB(value, AT))
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
  expect(codes).toContain('invalid_decimal')
  expect(codes).toContain('invalid_time')
  expect(codes).toContain('unknown_event')
})

it('holds for mutated order book answers', () => {
  const read = (value: unknown) => normalizeOrderbookAnswer(TICKER, value, AT)
  expect(codesOf(books, read)).toContain('invalid_message')
})

it('holds for mutated catalogue answers', () => {
  const read = (value: unknown) => normalizeCatalogAnswer(value, AT)
  expect(codesOf(catalogs, read)).toContain('invalid_message')
})

const normalizer = createVenueBNormalizer()

const lifecycles = [
  () => lifecycleMessage(),
  () =>
    lifecycleMessage({
      event_type: 'determined',
      result: 'yes',
      settlement_value: '1.0000',
      determination_ts: 1_790_006_403,
    }),
  () => lifecycleMessage({ event_type: 'settled', settled_ts: 1_790_006_405 }),
  () => lifecycleMessage({ event_type: 'metadata_updated', yes_sub_title: 'above 5' }),
]

it('holds for mutated lifecycle messages', () => {
  const read = (value: unknown) => normalizer.frame(value, AT)
  const codes = codesOf(lifecycles, read, FULL ? 20_000 : 4000)
  for (const code of ['none', 'invalid_message', 'invalid_id', 'invalid_time', 'invalid_decimal']) {
    expect(codes).toContain(code)
  }
})

const answers = [
  () => ['series', { series: { ticker: 'KXTEST15M', fee_multiplier: 1 } }],
  () => ['events', { events: [{ ...eventObject(), markets: [marketObject()] }], cursor: 'x' }],
  () => ['event', { event: eventObject(), markets: [marketObject(), legacyMarketObject()] }],
  () => ['markets', { markets: [marketObject(), marketObject()], cursor: '' }],
  () => ['market', { market: marketObject() }],
  () => ['orderbook', { orderbook_fp: currentSides() }],
  () => ['orderbooks', { orderbooks: [{ ticker: TICKER, orderbook_fp: currentSides() }] }],
  () => ['trades', { trades: [tradeObject(), tradeObject({ count_fp: undefined, count: 3 })] }],
]

it('holds for mutated answers to every request', () => {
  const read = (value: unknown) => {
    // The kind of the request is mutated with the answer; its other fields are our own.
    const [kind, said] = Array.isArray(value) ? (value as unknown[]) : []
    if (typeof kind !== 'string') return undefined
    const { problems } = normalizer.answer({ kind, ticker: TICKER, depth: 100 }, said, AT)
    return problems.length
  }
  const codes = codesOf(answers, read, FULL ? 20_000 : 3000)
  for (const code of ['none', 'invalid_message', 'unknown_event']) expect(codes).toContain(code)
})

function codesOf(
  originals: readonly (() => unknown)[],
  read: (value: unknown) => unknown,
  numRuns = FULL ? 20_000 : 2000,
): Set<string> {
  return codesOfMutated({
    originals,
    numRuns,
    hostile: [JSON.parse('{"__proto__":{"type":"trade"}}')],
    keys: ['markets', 'ticker', 'yes', 'x'],
    read: (value) => void read(value),
  })
}
