import { expect, it } from 'vitest'
import { codesOfMutated } from '../capture/mutations.testing.ts'
import {
  AT,
  BOOK_REQUEST,
  bookFrame,
  bookObject,
  LAST_TRADE_REQUEST,
  MARKET_ID,
  marketObject,
  pageObject,
  predictBook,
  predictCategory,
  topicObject,
} from './fixtures.testing.ts'
import { createVenueANormalizer } from './normalize.ts'

/** A normalizer answers any input with events or a PriorbookError, never with another error. */

const COUNT = process.env['PRIORBOOK_FULL'] === '1' ? 20_000 : 2000
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

it(`holds for ${COUNT} mutated frames`, () => {
  const codes = codesOf(frames, COUNT, (value) => normalizer.frame(value, AT))
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
  expect(codes).toContain('invalid_decimal')
  expect(codes).toContain('invalid_time')
  expect(codes).toContain('invalid_id')
  expect(codes).toContain('unknown_event')
})

it.each(answers)(`holds for ${COUNT / 2} mutated answers to %j`, (request, original) => {
  const read = (value: unknown) => normalizer.answer(request, value, AT)
  const codes = codesOf([original], COUNT / 2, read)
  expect(codes).toContain('none')
  expect(codes).toContain('invalid_message')
})

function codesOf(
  originals: readonly (() => unknown)[],
  numRuns: number,
  read: (value: unknown) => unknown,
): Set<string> {
  return codesOfMutated({
    originals,
    numRuns,
    hostile: [
      '{"msgType":"orderbook"',
      '['.repeat(20_000),
      JSON.parse('{"__proto__":{"type":"TOPIC"}}'),
    ],
    keys: ['markets', 'marketId', 'data', 'x'],
    read: (value) => void read(value),
  })
}
