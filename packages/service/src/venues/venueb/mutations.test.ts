import { PriorbookError } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { normalizeCatalogAnswer } from './catalog.ts'
import {
  AT,
  currentSides,
  deepValue,
  deltaMessage,
  eventObject,
  legacyMarketObject,
  lifecycleMessage,
  marketObject,
  snapshotMessage,
  TICKER,
  tradeMessage,
  tradeObject,
} from './fixtures.ts'
import { normalizeVenueB } from './normalize.ts'
import { createVenueBNormalizer } from './normalizer.ts'
import { normalizeOrderbookAnswer } from './orderbook.ts'

/** Whatever an upstream sends: an answer or a PriorbookError, never another error. */

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
  const codes = assertOnlyListedErrors(messages, (value) => normalizeVenueB(value, AT))
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
  expect(codes).toContain('invalid_decimal')
  expect(codes).toContain('invalid_time')
  expect(codes).toContain('unknown_event')
})

it('holds for mutated order book answers', () => {
  const read = (value: unknown) => normalizeOrderbookAnswer(TICKER, value, AT)
  expect(assertOnlyListedErrors(books, read)).toContain('invalid_message')
})

it('holds for mutated catalogue answers', () => {
  const read = (value: unknown) => normalizeCatalogAnswer(value, AT)
  expect(assertOnlyListedErrors(catalogs, read)).toContain('invalid_message')
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
  const codes = assertOnlyListedErrors(lifecycles, read, 20_000)
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
    // The word of the request is mutated with the answer; its other fields are ours.
    const [kind, said] = Array.isArray(value) ? (value as unknown[]) : []
    if (typeof kind !== 'string') return undefined
    const { problems } = normalizer.answer({ kind, ticker: TICKER, depth: 100 }, said, AT)
    return problems.length
  }
  const codes = assertOnlyListedErrors(answers, read, 20_000)
  for (const code of ['none', 'invalid_message', 'unknown_event']) expect(codes).toContain(code)
})

const DEEP = deepValue()

// Values that have broken parsers before, beside any JSON.
const hostile = fc.constantFrom<unknown>(
  undefined,
  null,
  '',
  0,
  -0,
  -1,
  1e308,
  NaN,
  Infinity,
  '1e308',
  '-0.00',
  '0x10',
  '٣',
  '0.5\u0000',
  '9'.repeat(500),
  `0.${'0'.repeat(5000)}1`,
  '__proto__',
  'constructor',
  '0001-01-01T00:00:00Z',
  '2026-13-01T00:00:00Z',
  [],
  {},
  [[]],
  DEEP,
  JSON.parse('{"__proto__":{"type":"trade"}}'),
)

const mutation = fc.record({
  place: fc.nat(),
  action: fc.constantFrom('replace', 'replace', 'delete', 'add'),
  value: fc.oneof(hostile, fc.jsonValue({ maxDepth: 3 })),
  key: fc.constantFrom('__proto__', 'constructor', 'markets', 'ticker', 'yes', 'x'),
})

function assertOnlyListedErrors(
  originals: readonly (() => unknown)[],
  read: (value: unknown) => unknown,
  numRuns = 4000,
): Set<string> {
  const codes = new Set<string>()
  const cases = fc.tuple(
    fc.constantFrom(...originals),
    fc.array(mutation, { minLength: 1, maxLength: 3 }),
  )
  fc.assert(
    fc.property(cases, ([original, mutations]) => {
      const holder = { value: original() }
      for (const one of mutations) mutate(holder, one)
      try {
        read(holder.value)
        codes.add('none')
      } catch (error) {
        // Not expect(): it would print values that are too deep to print.
        if (!(error instanceof PriorbookError)) throw error
        codes.add(error.code)
      }
    }),
    { seed: 20_260_921, numRuns },
  )
  return codes
}

type Place = { readonly parent: object; readonly key: string }

type Mutation = typeof mutation extends fc.Arbitrary<infer One> ? One : never

function mutate(holder: object, { place, action, value, key }: Mutation): void {
  const places = placesIn(holder, [])
  const target = places[place % places.length]
  if (target === undefined) return
  if (action === 'delete') {
    Reflect.deleteProperty(target.parent, target.key)
    return
  }
  // defineProperty makes an own key even of __proto__, as JSON.parse does. No JSON names a key of
  // an array.
  const isNew = action === 'add' && !Array.isArray(target.parent)
  Object.defineProperty(target.parent, isNew ? key : target.key, {
    value: value === DEEP ? DEEP : structuredClone(value),
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

function placesIn(parent: object, places: Place[]): Place[] {
  for (const [key, child] of Object.entries(parent) as [string, unknown][]) {
    places.push({ parent, key })
    if (typeof child === 'object' && child !== null && child !== DEEP) placesIn(child, places)
  }
  return places
}
