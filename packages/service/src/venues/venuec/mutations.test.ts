import type { PriorbookError } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { codesOfMutated } from '../capture/mutations.testing.ts'
import {
  AT,
  bookMessage,
  changeMessage,
  clobMarket,
  flatChangeMessage,
  gammaMarket,
  listChangeMessage,
  MARKET,
  newMarketMessage,
  priceMessage,
  resolvedFields,
  resolvedMessage,
  tickMessage,
  tradeMessage,
  UP,
} from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

/** Whatever an upstream sends: an answer or a PriorbookError, never another error. */

const COUNT = process.env['PRIORBOOK_FULL'] === '1' ? 20_000 : 2000
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
  () => priceMessage(),
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
  const codes = codesOf(frames, 2 * COUNT, (value) => normalizer.frame(value, AT))
  for (const code of ['none', 'invalid_message', 'invalid_decimal', 'invalid_id', 'invalid_time']) {
    expect(codes).toContain(code)
  }
  expect(codes).toContain('unknown_event')
})

it('holds for mutated answers', () => {
  const codes = codesOf(answers, COUNT, (value) => {
    const { kind, value: answer } = value as { kind: string; value: unknown }
    return normalizer.answer({ kind, token_id: UP, condition_id: MARKET }, answer, AT)
  })
  for (const code of ['none', 'invalid_message', 'invalid_id', 'invalid_time']) {
    expect(codes).toContain(code)
  }
})

function codesOf(
  originals: readonly (() => unknown)[],
  numRuns: number,
  read: (value: unknown) => { readonly problems: readonly { readonly error: PriorbookError }[] },
): Set<string> {
  return codesOfMutated({
    originals,
    numRuns,
    hostile: [
      'book',
      'price_change',
      '['.repeat(30_000),
      `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
      '2026-13-01 00:00:00+00',
      JSON.parse('{"__proto__":{"event_type":"book"}}'),
    ],
    keys: ['markets', 'changes', 'asset_id', 'c', 'x'],
    // An answer's kind is the connector's own word; only what came from outside is mutated.
    read: (value, original) =>
      read(keepKind(value, original)).problems.map(({ error }) => error.code),
  })
}

function keepKind(mutated: unknown, original: unknown): unknown {
  if (typeof original !== 'object' || original === null || !('kind' in original)) return mutated
  const isWhole = typeof mutated === 'object' && mutated !== null && 'value' in mutated
  return { kind: original.kind, value: isWhole ? mutated.value : mutated }
}
