import type { Proposition, RoundProposition, TopicProposition } from '../../core/upstream.ts'
import { roundSeriesOf } from './names.ts'
import { isoSeconds, type NativeObject } from './values.ts'

/** The words and bounds of a market in the venue's terms. */
export type AboutMarket = {
  readonly title: string
  readonly yesSubTitle: string
  readonly noSubTitle: string
  readonly rules: string
  readonly moreRules: string
  readonly strikeType: string
  readonly floor?: number
  readonly cap?: number
  readonly customStrike?: NativeObject
  /** The fields that a combination of other markets has. */
  readonly combination: NativeObject
}

/** The words of an event in the venue's terms. */
export type AboutEvent = {
  readonly title: string
  readonly subTitle: string
  /** The title that the socket announces. */
  readonly shortTitle: string
  readonly category: string
  readonly isExclusive: boolean
  readonly metadata: NativeObject
}

/** Describes a market. */
export function aboutMarket(market: Proposition): AboutMarket {
  return market.topic === undefined ? aboutRound(market) : aboutAnswer(market)
}

/** Describes the event of a market. */
export function aboutEvent(market: Proposition): AboutEvent {
  const { closeTime } = market
  if (market.topic === undefined) {
    const { name, cadence } = roundSeriesOf(market)
    const { openTime, strike, startPrice } = market
    const target = strike === undefined && startPrice !== '' ? ` · $${startPrice} target` : ''
    return {
      title: `${name} ${cadence === 'hourly' ? 'price by the hour' : '15 min'}${target}`,
      subTitle: `${isoSeconds(openTime)} to ${isoSeconds(closeTime)}`,
      shortTitle: `${name} price`,
      category: 'Crypto',
      isExclusive: false,
      metadata: { cadence },
    }
  }
  const { title, category, isExclusive } = market.topic
  const subTitle = `On ${isoSeconds(closeTime).slice(0, 10)}`
  return { title, subTitle, shortTitle: title, category, isExclusive, metadata: {} }
}

const NONE: NativeObject = {}
const ROUND_DIGITS: NativeObject = { round_digits: '2' }

function aboutRound(market: RoundProposition): AboutMarket {
  const { closeTime, strike, startPrice } = market
  const { name } = roundSeriesOf(market)
  const target = strike ?? (startPrice === '' ? undefined : startPrice)
  return {
    title:
      strike === undefined
        ? `${name} price up in next 15 mins?`
        : `${name} price on ${isoSeconds(closeTime)}?`,
    yesSubTitle: target === undefined ? 'Target Price: TBD' : `Target Price: $${target}`,
    noSubTitle: 'Target price: TBD',
    rules: `If the price of ${name} at ${isoSeconds(closeTime)} is ${
      strike === undefined ? 'at least the price at the start' : `above ${strike}`
    }, then the market resolves to Yes.`,
    moreRules: 'Emulated. The settlement value is rounded to the nearest 2 decimal places.',
    strikeType: strike === undefined ? 'greater_or_equal' : 'greater',
    ...(target === undefined ? {} : { floor: Number(target) }),
    customStrike: ROUND_DIGITS,
    combination: NONE,
  }
}

function aboutAnswer({ topic, answer }: TopicProposition): AboutMarket {
  const { label, question, floor, cap } = answer
  const isContest = topic.kind === 'election' || topic.kind === 'award'
  return {
    title: question,
    yesSubTitle: label,
    noSubTitle: label,
    rules: `If the answer to "${topic.title}" is ${label}, then the market resolves to Yes.`,
    moreRules: 'Emulated.',
    strikeType: strikeTypeOf(topic.kind, floor, cap),
    ...(floor === undefined ? {} : { floor }),
    ...(cap === undefined ? {} : { cap }),
    ...(isContest ? { customStrike: { Name: label } } : {}),
    combination: topic.kind === 'combo' ? combinationOf(topic.series.code, label) : NONE,
  }
}

function strikeTypeOf(
  kind: TopicProposition['topic']['kind'],
  floor: number | undefined,
  cap: number | undefined,
): string {
  if (floor !== undefined && cap !== undefined) return 'between'
  if (floor !== undefined) return 'greater'
  if (cap !== undefined) return 'less'
  return kind === 'match' ? 'structured' : 'custom'
}

function combinationOf(series: string, label: string): NativeObject {
  const legs = label.split(',').map((leg) => {
    const [side, ...words] = leg.split(' ')
    return { event_ticker: `KX${series}`, market_ticker: words.join(' '), side }
  })
  return { mve_collection_ticker: `KX${series}-R`, mve_selected_legs: legs }
}
