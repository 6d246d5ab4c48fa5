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
  marketObject,
  snapshotMessage,
  TICKER,
  tradeMessage,
} from './fixtures.ts'
import { normalizeVenueB } from './normalize.ts'
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
    { seed: 20_260_921, numRuns: 4000 },
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
