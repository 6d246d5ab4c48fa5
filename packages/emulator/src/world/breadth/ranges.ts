import type { Answer } from '../../core/upstream.ts'
import type { Random } from '../random.ts'
import { dayText, rangeChances, YES_NO, type PlanTopic } from './topic-plan.ts'
import { CITIES, COUNTRIES } from './words.ts'

/** Where a measured value ends: neighbouring ranges, one of which wins. */
export const planRange: PlanTopic = (n, calendar, random) => {
  const measure = MEASURES[n % MEASURES.length]!
  const { series, category, tags, typical, width, unit } = measure
  const closeTime = calendar.closeOf(Math.floor(n / MEASURES.length), measure.stepDays)
  const inner = 4 + random.int(8)
  const first = Math.round((typical * (0.9 + 0.2 * random.next())) / width) * width
  const answers = Array.from({ length: inner + 2 }, (_, at): Answer => {
    const floor = round(first + (at - 1) * width)
    const cap = round(floor + width)
    const bounds = at === 0 ? { cap } : at > inner ? { floor } : { floor, cap }
    const label =
      at === 0
        ? `Below ${cap}${unit}`
        : at > inner
          ? `${floor}${unit} or above`
          : `${floor}${unit} to ${cap}${unit}`
    const code = at === 0 ? `T${cap}` : at > inner ? `T${floor}` : `B${round(floor + width / 2)}`
    const question = `Will the ${series.title} be ${label.toLowerCase()} on ${dayText(closeTime)}?`
    return { code, label, question, outcomes: YES_NO, ...bounds }
  })
  return {
    kind: 'range',
    category,
    tags,
    series,
    code: calendar.codeOf(closeTime),
    title: sentence(`${series.title} on ${dayText(closeTime)}?`),
    isExclusive: true,
    answers,
    chances: rangeChances(answers.length, random),
    closeTime,
  }
}

/** Whether a value rises above each of several thresholds: all that it passes win. */
export const planThreshold: PlanTopic = (n, calendar, random) => {
  const { series, tags, typical, width, unit } = RATES[n % RATES.length]!
  const closeTime = calendar.closeOf(Math.floor(n / RATES.length), 30)
  const count = 3 + random.int(9)
  const answers = Array.from({ length: count }, (_, at): Answer => {
    const floor = round(typical + (at - (count >> 1)) * width)
    const label = `Above ${floor}${unit}`
    const question = `Will the ${series.title} be above ${floor}${unit} on ${dayText(closeTime)}?`
    return { code: `T${floor}`, label, question, outcomes: YES_NO, floor }
  })
  return {
    kind: 'threshold',
    category: 'Economics',
    tags,
    series,
    code: calendar.codeOf(closeTime),
    title: sentence(`${series.title} on ${dayText(closeTime)}?`),
    isExclusive: false,
    answers,
    chances: fallingChances(count, random),
    closeTime,
  }
}

function fallingChances(count: number, random: Random): number[] {
  const middle = (count - 1) / 2 + random.normal()
  return Array.from({ length: count }, (_, at) => Math.round(10_000 / (1 + Math.exp(at - middle))))
}

type Measure = {
  readonly series: { readonly code: string; readonly title: string; readonly frequency: string }
  readonly category: string
  readonly tags: readonly string[]
  readonly typical: number
  readonly width: number
  readonly unit: string
  readonly stepDays: number
}

const WEATHER: readonly Measure[] = CITIES.flatMap(([code, city]) =>
  [
    ['HIGH', 'highest temperature'],
    ['LOW', 'lowest temperature'],
  ].map(([part, words]) => ({
    series: { code: `${part}${code}`, title: `${words} in ${city}`, frequency: 'daily' },
    category: 'Climate and Weather',
    tags: ['Weather', 'Daily temperature'],
    typical: part === 'HIGH' ? 72 : 48,
    width: 2,
    unit: '°',
    stepDays: 1,
  })),
)

const PRICES: readonly Measure[] = (
  [
    ['INX', 'S&P 500', 'Financials', 6_800, 25],
    ['NASDAQ100', 'Nasdaq-100', 'Financials', 24_500, 100],
    ['WTI', 'price of oil (WTI)', 'Economics', 64, 1],
    ['GOLD', 'price of gold', 'Economics', 4_100, 20],
    ['EURUSD', 'EUR/USD rate', 'Financials', 1.16, 0.005],
    ['BTCW', 'weekly price of Bitcoin', 'Crypto', 64_000, 1_000],
    ['ETHW', 'weekly price of Ethereum', 'Crypto', 3_400, 50],
    ['SOLW', 'weekly price of Solana', 'Crypto', 180, 5],
  ] as const
).map(([code, title, category, typical, width]) => ({
  series: { code, title, frequency: 'weekly' },
  category,
  tags: [category, 'Prices'],
  typical,
  width,
  unit: '',
  stepDays: 7,
}))

const MEASURES: readonly Measure[] = [...PRICES, ...WEATHER]

const RATES = COUNTRIES.flatMap(([code, country]) =>
  (
    [
      ['CPI', 'inflation rate', 2.8, 0.1],
      ['RATE', 'policy rate', 3.5, 0.25],
      ['GDP', 'growth of GDP', 1.6, 0.5],
      ['U3', 'unemployment rate', 4.4, 0.1],
    ] as const
  ).map(([part, words, typical, width]) => ({
    series: { code: `${part}${code}`, title: `${words} in ${country}`, frequency: 'monthly' },
    tags: ['Economy', country],
    typical,
    width,
    unit: '%',
  })),
)

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
