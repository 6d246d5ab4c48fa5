import { PriorbookError } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  AT,
  BOOK_REQUEST,
  bookFrame,
  bookObject,
  deepValue,
  LAST_TRADE_REQUEST,
  MARKET_ID,
  marketObject,
  pageObject,
  predictBook,
  predictCategory,
  topicObject,
} from './fixtures.ts'
import { createVenueANormalizer } from './normalize.ts'

/** Whatever an upstream sends: an answer or a PriorbookError, never another error. */

const normalizer = createVenueANormalizer()

const frames = [
  () => bookFrame(),
  // As an object, so that the mutations reach what is inside.
  () => ({ ...bookFrame(), data: JSON.parse(bookFrame()['data'] as string) as unknown }),
  () => ({ type: 'M', topic: 'predictOrderbook/777', data: predictBook() }),
  () => ({ type: 'COMMAND', data: 'SUCCESS', subType: 'SUBSCRIBE', code: '00000000' }),
]

const two = [marketObject(), marketObject({ marketId: 5, status: 'RESOLVED' })]

const answers: readonly (readonly [{ readonly kind: string }, () => unknown])[] = [
  [{ kind: 'topics' }, () => pageObject([topicObject(), topicObject({ markets: two })])],
  [{ kind: 'topic' }, () => topicObject()],
  [{ kind: 'search' }, () => [topicObject()]],
  [BOOK_REQUEST, () => bookObject()],
  [LAST_TRADE_REQUEST, () => ({ marketId: MARKET_ID, lastTradePrice: '0.52' })],
  [{ kind: 'predict_market' }, () => ({ success: true, data: [predictCategory()] })],
]

it('holds for 8,000 mutated frames', () => {
  const codes = assertOnlyListedErrors(frames, 8000, (value) => normalizer.frame(value, AT))
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
  expect(codes).toContain('invalid_decimal')
  expect(codes).toContain('invalid_time')
  expect(codes).toContain('invalid_id')
  expect(codes).toContain('unknown_event')
})

it.each(answers)('holds for 2,000 mutated answers to %j', (request, original) => {
  const read = (value: unknown) => normalizer.answer(request, value, AT)
  const codes = assertOnlyListedErrors([original], 2000, read)
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
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
  '{"msgType":"orderbook"',
  '['.repeat(20_000),
  [],
  {},
  [[]],
  DEEP,
  JSON.parse('{"__proto__":{"type":"TOPIC"}}'),
)

const mutation = fc.record({
  place: fc.nat(),
  action: fc.constantFrom('replace', 'replace', 'delete', 'add'),
  value: fc.oneof(hostile, fc.jsonValue({ maxDepth: 3 })),
  key: fc.constantFrom('__proto__', 'constructor', 'markets', 'marketId', 'data', 'x'),
})

function assertOnlyListedErrors(
  originals: readonly (() => unknown)[],
  numRuns: number,
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
