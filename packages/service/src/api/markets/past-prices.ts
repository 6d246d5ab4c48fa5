import { toBackfillKey, type Gap, type MarketRecord } from '@priorbook/sdk/domain'
import { gapsOfKeys, storeGaps, type TimeSpan } from '../../rows/index.ts'
import { backfillFacts, pricesFamily, pricesGapKey, type StoreReader } from '../../store/store.ts'
import type { Notice } from '../route.ts'
import { NOTHING_FETCHED } from './past-trades.ts'

/**
 * What is missing of the price history of a market: what the venue did not give, and what was removed. Gaps of
 * its past trades have the scope of the market, under a key that may be the one of its prices' rows.
 */
export async function gapsOfPastPrices(
  store: StoreReader,
  { venue, marketId }: MarketRecord,
  streams: readonly { readonly key: string }[],
  span: TimeSpan,
): Promise<readonly Gap[]> {
  const own = toBackfillKey(pricesGapKey(marketId))
  const keys = [own, ...streams.map(({ key }) => key)]
  const gaps = await gapsOfKeys(storeGaps(store, venue), keys, span)
  return gaps.filter(({ key, scope }) => key === own || scope === 'instrument')
}

/** Why a range has no values of the price history. */
export async function explainNoPrices(
  store: StoreReader,
  { venue, marketId }: MarketRecord,
): Promise<Notice> {
  const { reached } = backfillFacts(venue, pricesFamily(marketId))
  return (await store.fact(reached)) === undefined ? NOT_FETCHED : NOTHING_FETCHED
}

const NOT_FETCHED: Notice = {
  code: 'not_backfilled',
  message: 'The price history of this market was not fetched from the venue.',
}
