import type { MarketRecord } from '@priorbook/sdk/domain'

// Series of venue B name their coin: KXBTC, KXBTCD, KXBTC15M, BTCD, KXETHMAXY. What goes on otherwise
// (KXETHICS) is another word.
const COIN = /^(?:KX)?(BTC|ETH|SOL|XRP|DOGE|BNB)(?=D?(?:\d|-|$|MAX|MIN))/

/** The asset that plans go by: that of the record, or the coin in a ticker of venue B. */
export function planAsset(
  record: Pick<MarketRecord, 'venue' | 'marketId' | 'asset' | 'seriesTicker'>,
): string | undefined {
  if (record.venue !== 'venueb') return record.asset
  return record.asset ?? COIN.exec(record.seriesTicker ?? record.marketId)?.[1]
}
