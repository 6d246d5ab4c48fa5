import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'

/** The asset that plans are checked against: that of the record, or the coin named by its ticker. */
export function planAsset(
  record: Pick<MarketRecord, 'venue' | 'marketId' | 'asset' | 'seriesTicker'>,
): string | undefined {
  if (record.asset !== undefined) return record.asset
  return VENUES[record.venue].assetInTicker?.exec(record.seriesTicker ?? record.marketId)?.[1]
}
