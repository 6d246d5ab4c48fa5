import type { Answer, Topic } from '../../core/upstream.ts'
import type { Random } from '../random.ts'

/** A topic before it has markets: what it asks, and what each answer is worth at first. */
export type TopicPlan = Omit<Topic, 'markets' | 'name' | 'number'> & {
  readonly answers: readonly Answer[]
  /** The chance of each answer in ten-thousandths. */
  readonly chances: readonly number[]
  readonly closeTime: number
}

/** Makes the plan of the n-th topic of one kind. */
export type PlanTopic = (n: number, calendar: Calendar, random: Random) => TopicPlan

/** Where the topics of a series lie in time. */
export interface Calendar {
  /** When the ordinal-th topic of a series closes; the topics are `stepDays` apart. */
  closeOf(ordinal: number, stepDays: number, offsetDays?: number): number
  /** The part of the event's ticker that tells the topics of a series apart. */
  codeOf(closeTime: number): string
}

/** Both outcomes of a market that is a question of its own. */
export const YES_NO = ['Yes', 'No'] as const

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

/** A day as tickers write it: 28NOV07. */
export function dayCode(time: number): string {
  const date = new Date(time)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(date.getUTCFullYear() % 100)}${MONTHS[date.getUTCMonth()]}${two(date.getUTCDate())}`
}

/** A day as titles write it: November 7, 2028. */
export function dayText(time: number): string {
  return DAY.format(time)
}

const DAY = new Intl.DateTimeFormat('en-US', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'long',
  day: 'numeric',
})

/** Chances of answers of which exactly one wins; they add up to about 10,000, a few favourites first. */
export function exclusiveChances(count: number, random: Random): number[] {
  const weights = Array.from({ length: count }, (_, at) => (0.2 + random.next()) / (1 + at))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => Math.round((10_000 * weight) / sum))
}

/** Chances of neighbouring ranges: most likely in the middle. */
export function rangeChances(count: number, random: Random): number[] {
  const middle = (count - 1) / 2 + random.normal()
  const weights = Array.from({ length: count }, (_, at) => Math.exp(-((at - middle) ** 2) / 2.5))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => Math.round((10_000 * weight) / sum))
}
