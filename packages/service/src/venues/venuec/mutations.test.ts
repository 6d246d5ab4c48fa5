import { PriorbookError } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  AT,
  bookMessage,
  changeMessage,
  clobMarket,
  deepValue,
  flatChangeMessage,
  gammaMarket,
  listChangeMessage,
  MARKET,
  newMarketMessage,
  resolvedFields,
  resolvedMessage,
  tickMessage,
  tradeMessage,
  UP,
} from './fixtures.ts'
import { createVenueCNormalizer } from './normalize.ts'

/** Whatever an upstream sends: an answer or a PriorbookError, never another error. */

const normalizer = createVenueCNormalizer()

const frames = [
  () => bookMessage(),
  () => changeMessage(),
  () => [bookMessage(), changeMessage(), tickMessage(), tradeMessage()],
  () => flatChangeMessage(),
  () => listChangeMessage(),
  () => tradeMessage(),
  () => newMarketMessage(),
  () => resolvedMessage(),
]

const answers: readonly (() => { kind: string; value: unknown })[] = [
  () => ({ kind: 'clob_book', value: bookMessage() }),
  () => ({ kind: 'clob_books', value: [bookMessage(), bookMessage()] }),
  () => ({ kind: 'gamma_market', value: gammaMarket(resolvedFields()) }),
  () => ({ kind: 'gamma_markets', value: [gammaMarket(), gammaMarket(resolvedFields())] }),
  () => ({ kind: 'gamma_events', value: [{ id: '1', markets: [gammaMarket()] }] }),
  () => ({ kind: 'clob_market', value: clobMarket({ closed: true }) }),
  () => ({ kind: 'clob_markets', value: { data: [clobMarket()], next_cursor: 'MTAw' } }),
]

// 20,000 mutated frames and answers in all.
it('holds for mutated frames', () => {
  const codes = assertOnlyListedErrors(frames, 12_000, (value) => normalizer.frame(value, AT))
  for (const code of ['none', 'invalid_message', 'invalid_decimal', 'invalid_id', 'invalid_time']) {
    expect(codes).toContain(code)
  }
  expect(codes).toContain('unknown_event')
})

it('holds for mutated answers', () => {
  const codes = assertOnlyListedErrors(answers, 8000, (value) => {
    const { kind, value: answer } = value as { kind: string; value: unknown }
    return normalizer.answer({ kind, token_id: UP, condition_id: MARKET }, answer, AT)
  })
  for (const code of ['none', 'invalid_message', 'invalid_id', 'invalid_time']) {
    expect(codes).toContain(code)
  }
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
  'book',
  'price_change',
  '['.repeat(30_000),
  `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  '0001-01-01T00:00:00Z',
  '2026-13-01 00:00:00+00',
  [],
  {},
  [[]],
  DEEP,
  JSON.parse('{"__proto__":{"event_type":"book"}}'),
)

const mutation = fc.record({
  place: fc.nat(),
  action: fc.constantFrom('replace', 'replace', 'delete', 'add'),
  value: fc.oneof(hostile, fc.jsonValue({ maxDepth: 3 })),
  key: fc.constantFrom('__proto__', 'constructor', 'markets', 'changes', 'asset_id', 'c', 'x'),
})

function assertOnlyListedErrors(
  originals: readonly (() => unknown)[],
  numRuns: number,
  read: (value: unknown) => { readonly problems: readonly { readonly error: PriorbookError }[] },
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
        // An answer's kind is the connector's own word; only what came from outside is mutated.
        const { problems } = read(keepKind(holder.value, original()))
        codes.add('none')
        for (const { error } of problems) codes.add(error.code)
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

function keepKind(mutated: unknown, original: unknown): unknown {
  if (typeof original !== 'object' || original === null || !('kind' in original)) return mutated
  const isWhole = typeof mutated === 'object' && mutated !== null && 'value' in mutated
  return { kind: original.kind, value: isWhole ? mutated.value : mutated }
}

type Place = { readonly parent: object; readonly key: string }

type Mutation = typeof mutation extends fc.Arbitrary<infer One> ? One : never

function mutate(holder: object, { place, action, value, key }: Mutation): void {
  const places = placesIn(holder, [])
  const target = places[place % places.length]
  if (target === undefined) return
  if (action === 'delete') {
    // JSON has no list with holes.
    if (Array.isArray(target.parent)) target.parent.splice(Number(target.key), 1)
    else Reflect.deleteProperty(target.parent, target.key)
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
