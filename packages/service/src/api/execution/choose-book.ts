import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'
import { chooseOutcomes } from '../pages/outcome-filter.ts'

/** The recorded book that an outcome is traded on. */
export type ChosenBook = {
  readonly instrument: MarketInstrument
  readonly outcome: string | undefined
  readonly tokenId: string | undefined
  /** True where the book is that of the other outcome. */
  readonly isComplement: boolean
}

/** Finds the book of the outcome in a request, which must be named where every token has a book. */
export async function chooseBook(
  context: ApiContext,
  record: MarketRecord,
  query: { readonly outcome?: string | undefined; readonly token_id?: string | undefined },
): Promise<ChosenBook> {
  const instruments = await instrumentsOf(context, record)
  if (VENUES[record.venue].booksPer === 'token') {
    const [instrument, ...others] = chooseOutcomes(instruments, query)
    if (instrument === undefined || others.length > 0) {
      throw new Problem('invalid_parameter', 'outcome or token_id is needed', {
        param: 'outcome',
        allowed: instruments.flatMap(({ outcome, tokenId }) => outcome ?? tokenId ?? []),
      })
    }
    const { outcome, tokenId } = instrument
    return { instrument, outcome, tokenId, isComplement: false }
  }
  const instrument = instruments[0]!
  const outcomes = record.outcomes.map(({ label: outcome, tokenId, index }) => ({
    outcome,
    tokenId,
    index,
  }))
  const isNamed = query.outcome !== undefined || query.token_id !== undefined
  const [chosen] = isNamed
    ? chooseOutcomes(outcomes, query)
    : outcomes.filter(({ index }) => index === 0)
  return {
    instrument,
    outcome: chosen?.outcome,
    tokenId: chosen?.tokenId,
    isComplement: (chosen?.index ?? 0) !== 0,
  }
}
