import type { Random } from '../world/random.ts'

/** The ways in which a frame can be wrong. */
export const MALFORMED_VARIANTS = [
  'truncated',
  'wrong_types',
  'not_a_number',
  'huge_number',
  'duplicate_prices',
  'crossed',
  'deep_nesting',
  'prototype_keys',
  'empty',
  'not_json',
] as const

/** One way in which a frame can be wrong. */
export type MalformedVariant = (typeof MALFORMED_VARIANTS)[number]

/** Corrupts a frame; a variant that finds nothing to change in it truncates it instead. */
export function malform(
  text: string,
  random: Random,
  variant: MalformedVariant = MALFORMED_VARIANTS[random.int(MALFORMED_VARIANTS.length)]!,
): { readonly text: string; readonly variant: MalformedVariant } {
  const spoiled = spoil(text, variant, random)
  if (spoiled !== undefined && spoiled !== text) return { text: spoiled, variant }
  return { text: truncate(text, random), variant: 'truncated' }
}

function spoil(text: string, variant: MalformedVariant, random: Random): string | undefined {
  switch (variant) {
    case 'truncated':
      return truncate(text, random)
    case 'wrong_types':
      return text.replace(
        NUMBERS,
        (_all, _decimal, at: number) => ['{}', 'null', '[]', 'true'][at % 4]!,
      )
    case 'not_a_number':
      return replaceLast(text, /"\d*\.\d+"/g, '"NaN"')
    case 'huge_number':
      return replaceLast(text, /"\d*\.\d+"/g, '"1e308"')
    case 'duplicate_prices':
      return text.replace(LEVEL, (level) => `${level},${level}`)
    case 'crossed':
      return cross(text)
    case 'deep_nesting':
      return text.replace(/"\d*\.\d+"/, '['.repeat(20_000) + ']'.repeat(20_000))
    case 'prototype_keys':
      return text.replace('{', '{"__proto__":{"polluted":true},"constructor":{"prototype":{}},')
    case 'empty':
      return '{}'
    case 'not_json':
      return '<html><body>502 Bad Gateway</body></html>'
  }
}

/** A decimal as text, or escaped text where the frame holds JSON inside JSON. */
const NUMBERS = /\\?"(-?\d*\.\d+)\\?"/g
const LEVEL =
  /\[\\?"\d*\.\d+\\?",\\?"\d+(?:\.\d+)?\\?"\]|\{"price":"\d*\.\d+","size":"\d+(?:\.\d+)?"\}/

function truncate(text: string, random: Random): string {
  return text.slice(0, 1 + random.int(Math.max(1, text.length - 1)))
}

// Every price goes to 0.99: bids of both outcomes at 0.99 meet, and so do bids and asks. Two levels of one side
// have the same price then; a single level could be right. So could a change to 0.99 in a book with one side,
// which is why it goes to 1, where no price can be.
function cross(text: string): string | undefined {
  const levels = text.match(new RegExp(LEVEL, 'g'))
  if (levels?.length === 1) return undefined
  if (levels !== null) {
    return text.replace(new RegExp(LEVEL, 'g'), (level) => level.replace(/\d*\.\d+/, '0.9900'))
  }
  return text
    .replace(/"price":"\d*\.\d+"/g, '"price":"0.9900"')
    .replace(/"price_dollars":"\d*\.\d+"/g, '"price_dollars":"1.0000"')
}

function replaceLast(text: string, pattern: RegExp, by: string): string | undefined {
  const last = [...text.matchAll(pattern)].at(-1)
  if (last === undefined) return undefined
  return text.slice(0, last.index) + by + text.slice(last.index + last[0].length)
}
