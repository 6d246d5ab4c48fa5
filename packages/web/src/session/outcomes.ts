import { VENUES } from '@priorbook/sdk/domain'
import type { MarketJson } from '@priorbook/sdk/wire'

/** One outcome of a market and where its book comes from. */
export type OutcomeView = {
  readonly label: string
  /** The instrument whose book is shown. */
  readonly key: string
  readonly tokenId: string | undefined
  /** True where the market has one book and this outcome is its other side. */
  readonly isComplement: boolean
}

/** Both outcomes. Where a market has one book, the second outcome is its complement. */
export function outcomesOf(market: MarketJson): readonly [OutcomeView, OutcomeView] {
  const { booksPer, hasYesNoLadders } = VENUES[market.venue]
  const sorted = [...market.outcomes].sort((a, b) => a.index - b.index)
  const view = (index: 0 | 1, name: string): OutcomeView => {
    const outcome = sorted[index]
    const tokenId = outcome?.token_id ?? undefined
    const hasOwn = booksPer === 'token' && tokenId !== undefined
    return {
      label: hasYesNoLadders ? name : (outcome?.label ?? name),
      key: hasOwn ? tokenId : market.market_id,
      tokenId,
      isComplement: !hasOwn && index === 1,
    }
  }
  return [view(0, 'Yes'), view(1, 'No')]
}
