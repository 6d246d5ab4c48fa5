import type { MarketJson } from '@priorbook/sdk/wire'

/** One outcome of a market and where its book comes from. */
export type OutcomeView = {
  readonly label: string
  /** The instrument whose book is shown. */
  readonly key: string
  readonly tokenId: string | undefined
  /** True where the venue has one book and this outcome is its other side. */
  readonly isComplement: boolean
}

/** Both outcomes: of venue C each has a book, of A and B the second is the complement of the first. */
export function outcomesOf(market: MarketJson): readonly [OutcomeView, OutcomeView] {
  const { venue, market_id: id } = market
  const sorted = [...market.outcomes].sort((a, b) => a.index - b.index)
  const names = ['Yes', 'No']
  const view = (index: 0 | 1): OutcomeView => {
    const outcome = sorted[index]
    const tokenId = outcome?.token_id ?? undefined
    const hasOwn = venue === 'venuec' && tokenId !== undefined
    return {
      label: venue === 'venueb' ? names[index]! : (outcome?.label ?? names[index]!),
      key: hasOwn ? tokenId : id,
      tokenId,
      isComplement: !hasOwn && index === 1,
    }
  }
  return [view(0), view(1)]
}
