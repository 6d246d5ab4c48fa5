import type { Instrument, MarketRecord } from '@priorbook/sdk/domain'
import type { StreamMessage } from '@priorbook/sdk/wire'
import { findContract, isMember, operatorOf } from '../contracts/find.ts'
import { toContractWithTermsJson } from '../contracts/to-json.ts'
import { planAsset } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { withheldNotice } from '../contracts/withheld.ts'
import type { ApiContext, Grant } from '../route.ts'
import type { ContractRequest } from './request.ts'
import type { Selection } from './select-markets.ts'

/**
 * Finds the members of a contract in any state, as if each were named. A market that becomes a member later
 * joins with its first row. Throws `Problem` for unknown contracts and those outside the plan.
 */
export async function selectContract(
  { id, contractId, style }: ContractRequest,
  context: ApiContext,
  grant: Grant,
): Promise<Selection> {
  const contract = await findContract(context, grant, contractId)
  const markets = contract.members.map(({ state }) => state)
  const instruments: Instrument[] = []
  for (const { record } of markets) {
    for (const { venue, key } of await instrumentsOf(context, record)) {
      instruments.push({ venue, market: record.marketId, key })
    }
  }
  const known = new Set(markets.map(({ record }) => nameOf(record)))
  const newsOf = async (record: MarketRecord): Promise<StreamMessage | undefined> => {
    if (known.has(nameOf(record))) return undefined
    known.add(nameOf(record))
    const now = await findContract(context, grant, contractId)
    return { type: 'contract', id, row: toContractWithTermsJson(now, context.now(), style) }
  }
  return {
    venues: new Set(markets.map(({ record }) => record.venue)),
    markets,
    instruments,
    over: [],
    wants: (record) =>
      isMember(operatorOf(context), record, contractId) &&
      grant.allows(record.venue, planAsset(record)),
    notice: withheldNotice(contract),
    about: { contract: toContractWithTermsJson(contract, context.now(), style) },
    newsOf,
  }
}

function nameOf({ venue, marketId }: MarketRecord): string {
  return `${venue}:${marketId}`
}
