import { restingMoney } from '../../core/books.ts'
import type { RoundProposition } from '../../core/upstream.ts'
import type { Condition, EventGroup } from './conditions.ts'
import { isClosed, pricesOf, toNumber, type Memory } from './memory.ts'
import { descriptionOf, eventTitleOf, imageOf, isoTime, sourceOf, wordsOf } from './texts.ts'

/** The event around its markets, without them. */
export function toGammaEvent(event: EventGroup, memory: Memory): object {
  const { id, slug, conditions } = event
  const { proposition: of } = conditions[0]!
  const volume = toNumber(volumeOf(event), 6)
  const liquidity = toNumber(liquidityOf(event), 6)
  const series = seriesOf(event)
  const isNegRisk = event.negRiskId !== undefined
  return {
    id,
    ticker: slug,
    slug,
    title: eventTitleOf(of),
    description: descriptionOf(of),
    resolutionSource: sourceOf(of),
    startDate: isoTime(of.listTime),
    creationDate: isoTime(of.listTime),
    endDate: isoTime(of.closeTime),
    image: imageOf(of),
    icon: imageOf(of),
    active: true,
    closed: isEventClosed(event),
    archived: false,
    new: false,
    featured: false,
    restricted: true,
    liquidity,
    volume,
    openInterest: 0,
    createdAt: isoTime(of.listTime),
    updatedAt: isoTime(eventUpdatedAt(event, memory)),
    competitive: competitiveOf(conditions[0]!),
    volume24hr: volume,
    volume1wk: volume,
    volume1mo: volume,
    volume1yr: volume,
    enableOrderBook: true,
    liquidityClob: liquidity,
    negRisk: isNegRisk,
    ...(isNegRisk ? { negRiskMarketID: event.negRiskId } : {}),
    commentCount: 0,
    series: [series],
    cyom: false,
    showAllOutcomes: true,
    showMarketImages: true,
    enableNegRisk: isNegRisk,
    automaticallyActive: true,
    startTime: isoTime(of.openTime),
    seriesSlug: series.slug,
    negRiskAugmented: false,
    pendingDeployment: false,
    deploying: false,
    requiresTranslation: false,
  }
}

/** True when every market of the event is closed. */
export function isEventClosed({ conditions }: EventGroup): boolean {
  return conditions.every(({ proposition }) => isClosed(proposition.phase))
}

/** When anything of the event changed last. */
export function eventUpdatedAt({ conditions }: EventGroup, memory: Memory): number {
  return Math.max(...conditions.map(({ proposition }) => memory.updatedAt(proposition)))
}

/** What all markets of the event traded, in millionths of a share. */
export function volumeOf({ conditions }: EventGroup): number {
  let sum = 0
  for (const { proposition } of conditions) sum += proposition.volume
  return sum
}

/** What rests in all books of the event, in millionths of a dollar. */
export function liquidityOf({ conditions }: EventGroup): number {
  let sum = 0
  for (const condition of conditions) sum += restingOf(condition)
  return sum
}

/** What rests in the book of a market, in millionths of a dollar. */
export function restingOf({ proposition }: Condition): number {
  return isClosed(proposition.phase) ? 0 : restingMoney(proposition.book)
}

/** How open the question is: 1 at even odds, as the venue works it out; 0 when it is over. */
export function competitiveOf({ proposition }: Condition): number {
  const distance = pricesOf(proposition)[0] / 10_000 - 0.5
  return isClosed(proposition.phase) ? 0 : 1 / (1 + distance * distance)
}

const SERIES_IDS = { '5m': 10_684, '15m': 10_192, '1h': 10_114 } as const
const ASSET_STEP = { BTC: 0, ETH: 1, BNB: 2 } as const
const SERIES_SINCE = Date.UTC(2025, 10, 21)

type SeriesWords = Record<'id' | 'slug' | 'title' | 'recurrence', string>

function seriesOf(event: EventGroup) {
  const { proposition: of } = event.conditions[0]!
  const { id, slug, title, recurrence } =
    of.topic === undefined ? roundSeries(of) : topicSeries(event, of.topic.series)
  const volume = toNumber(volumeOf(event), 6)
  return {
    id,
    ticker: slug,
    slug,
    title,
    seriesType: 'single',
    recurrence,
    image: '',
    icon: '',
    active: true,
    closed: false,
    archived: false,
    featured: false,
    restricted: true,
    createdAt: isoTime(SERIES_SINCE),
    updatedAt: isoTime(of.listTime),
    volume24hr: volume,
    volume,
    liquidity: 0,
    commentCount: 0,
    requiresTranslation: false,
  }
}

function roundSeries({ asset, window }: RoundProposition): SeriesWords {
  return {
    id: String(SERIES_IDS[window] + ASSET_STEP[asset]),
    slug: `${asset.toLowerCase()}-up-or-down-${window}`,
    title: `${asset} Up or Down ${window}`,
    recurrence: window,
  }
}

function topicSeries(
  { id }: EventGroup,
  { title, frequency }: { readonly title: string; readonly frequency: string },
): SeriesWords {
  return { id, slug: wordsOf(title), title, recurrence: frequency }
}
