import type { AlertRule, MarketScope } from '@priorbook/sdk/alerts'
import { VENUES } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { findNamedMarket } from '../markets/find.ts'
import type { ApiContext, Grant } from '../route.ts'
import { findContract } from './find.ts'

/** Throws unless a rule watches what its owner may read; a market or contract that it names must exist. */
export async function requireWatchable(
  context: ApiContext,
  grant: Grant,
  rule: AlertRule,
): Promise<void> {
  if (rule.kind === 'edge') {
    const { members } = await findContract(context, grant, rule.contractId)
    if (members.length > 1) return
    throw new Problem('invalid_parameter', 'the contract has fewer than two markets to compare', {
      param: 'contract_id',
    })
  }
  const { scope } = rule
  const { venue, marketId } = scope
  grant.requireVenue(venue)
  if (marketId === undefined) {
    grant.requireAsset(venue, assetOf(scope))
    return
  }
  const { record } = await findNamedMarket(context, grant, venue, marketId)
  const { outcome } = scope
  if (outcome === undefined || record.outcomes.some(({ label }) => label === outcome)) return
  throw new Problem('invalid_parameter', 'the market has no such outcome', {
    param: 'outcome',
    allowed: record.outcomes.map(({ label }) => label),
  })
}

function assetOf({ venue, asset, series = '' }: MarketScope): string | undefined {
  return asset ?? VENUES[venue].assetInTicker?.exec(series)?.[1]
}
