import type { Condition } from './conditions.ts'
import { liquidityOf, pricesOf, toNumber } from './market-state.ts'
import type { Memory } from './memory.ts'
import { descriptionOf, imageOf, isoTime, questionOf, sourceOf } from './texts.ts'

/** The event around a market, as Gamma nests it; every round is an event with one market. */
export function toGammaEvent(condition: Condition, memory: Memory, closed: boolean): object {
  const { proposition: of, slug, eventId } = condition
  const volume = toNumber(of.volume, 6)
  const liquidity = closed ? 0 : toNumber(liquidityOf(of), 6)
  const series = seriesOf(condition)
  return {
    id: eventId,
    ticker: slug,
    slug,
    title: questionOf(of),
    description: descriptionOf(of),
    resolutionSource: sourceOf(of.asset),
    startDate: isoTime(of.listTime),
    creationDate: isoTime(of.listTime),
    endDate: isoTime(of.closeTime),
    image: imageOf(of.asset),
    icon: imageOf(of.asset),
    active: true,
    closed,
    archived: false,
    new: false,
    featured: false,
    restricted: true,
    liquidity,
    volume,
    openInterest: 0,
    createdAt: isoTime(of.listTime),
    updatedAt: isoTime(memory.updatedAt(of)),
    competitive: competitiveOf(condition, closed),
    volume24hr: volume,
    volume1wk: volume,
    volume1mo: volume,
    volume1yr: volume,
    enableOrderBook: true,
    liquidityClob: liquidity,
    negRisk: false,
    commentCount: 0,
    series: [series],
    cyom: false,
    showAllOutcomes: true,
    showMarketImages: true,
    enableNegRisk: false,
    automaticallyActive: true,
    startTime: isoTime(of.openTime),
    seriesSlug: series.slug,
    negRiskAugmented: false,
    pendingDeployment: false,
    deploying: false,
    requiresTranslation: false,
  }
}

/** How open the question is: 1 at even odds, as the venue works it out; 0 when it is over. */
export function competitiveOf({ proposition }: Condition, closed: boolean): number {
  const distance = pricesOf(proposition)[0] / 10_000 - 0.5
  return closed ? 0 : 1 / (1 + distance * distance)
}

const SERIES_IDS = { '5m': 10_684, '15m': 10_192, '1h': 10_114 } as const
const ASSET_STEP = { BTC: 0, ETH: 1, BNB: 2 } as const
const SERIES_SINCE = Date.UTC(2025, 10, 21)

function seriesOf({ proposition: { asset, window, listTime, volume } }: Condition) {
  const slug = `${asset.toLowerCase()}-up-or-down-${window}`
  return {
    id: String(SERIES_IDS[window] + ASSET_STEP[asset]),
    ticker: slug,
    slug,
    title: `${asset} Up or Down ${window}`,
    seriesType: 'single',
    recurrence: window,
    image: '',
    icon: '',
    active: true,
    closed: false,
    archived: false,
    featured: false,
    restricted: true,
    createdAt: isoTime(SERIES_SINCE),
    updatedAt: isoTime(listTime),
    volume24hr: toNumber(volume, 6),
    volume: toNumber(volume, 6),
    liquidity: 0,
    commentCount: 0,
    requiresTranslation: false,
  }
}
