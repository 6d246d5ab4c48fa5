import type { Proposition, RoundProposition } from '../../core/upstream.ts'
import { COINS, titleOf } from '../../world/round-texts.ts'

const UP_DOWN = ['Up', 'Down'] as const

/** The labels of the outcomes, in the order of their tokens. */
export function outcomesOf(of: Proposition): readonly [string, string] {
  return of.topic === undefined ? UP_DOWN : of.answer.outcomes
}

/** The question of a market. */
export function questionOf(of: Proposition): string {
  return of.topic === undefined ? titleOf(of) : of.answer.question
}

/** The title of the event around a market. */
export function eventTitleOf(of: Proposition): string {
  return of.topic === undefined ? titleOf(of) : of.topic.title
}

/** The rule of a market. */
export function descriptionOf(of: Proposition): string {
  if (of.topic !== undefined) {
    const [yes] = of.answer.outcomes
    return `This market resolves to "${yes}" if the answer to "${of.topic.title}" is ${of.answer.label}.`
  }
  const { asset } = of
  const coin = COINS[asset]
  return (
    `This market resolves to "Up" if the ${coin} price at the end of its window is greater than or ` +
    `equal to the price at its beginning. Otherwise it resolves to "Down".\n` +
    `The source is the Chainlink data stream ${asset}/USD, ${streamOf(asset)}.`
  )
}

/** Where the answer comes from. */
export function sourceOf(of: Proposition): string {
  return of.topic === undefined ? streamOf(of.asset) : ''
}

function streamOf(asset: RoundProposition['asset']): string {
  return `https://data.chain.link/streams/${asset.toLowerCase()}-usd`
}

/** The picture of an asset or of a category. */
export function imageOf(of: Proposition): string {
  const name = of.topic === undefined ? of.asset : wordsOf(of.topic.category)
  return `https://cdn.example.com/${name}+fullsize.png`
}

/** A title as part of an address, made unique by a code. */
export function slugOf(title: string, code: string): string {
  return `${wordsOf(title)}-${code.toLowerCase()}`
}

/** Lower-case words joined by dashes; a negative number keeps its sign as a word. */
export function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/ -(?=\d)/g, ' minus ')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** A time in ISO form; whole seconds have no fraction. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/** The date alone. */
export function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The form of `closedTime`: a blank for the T, whole seconds, a short offset. */
export function blankTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}+00`
}
