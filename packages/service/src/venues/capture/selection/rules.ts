import * as v from 'valibot'
import { CAPTURE_TIERS, type CaptureTier, type MarketRecord } from '@priorbook/sdk/domain'
import { setting, type Setting } from '../../../lib/setting.ts'
import { SPAN, spanMicros } from '../../../lib/span.ts'

const names = v.pipe(
  v.union([v.string(), v.array(v.string())], 'must be text or a list of texts'),
  v.transform((said) => (typeof said === 'string' ? [said] : said)),
)
const least = v.pipe(v.number('must be a number'), v.minValue(0, 'must be >= 0'))
const span = v.pipe(
  v.string('must be a time such as 30d or 12h'),
  v.regex(SPAN, 'must be a time such as 30d or 12h'),
  v.transform((text) => spanMicros(text) / 1000),
)

const RULE = v.strictObject(
  {
    series: v.optional(names),
    event: v.optional(names),
    category: v.optional(names),
    tag: v.optional(names),
    asset: v.optional(names),
    window: v.optional(names),
    market: v.optional(names),
    title: v.optional(names),
    minVolume: v.optional(least),
    minLiquidity: v.optional(least),
    closesWithin: v.optional(span),
    tier: v.picklist(CAPTURE_TIERS, `must be one of ${CAPTURE_TIERS.join(', ')}`),
  },
  ({ expected, received }) => {
    if (expected === 'never') return 'is no condition'
    return received === 'undefined' ? 'is missing' : 'must be a rule with a tier'
  },
)
const RULES = v.array(RULE, 'must be default, all, or a list of rules')

/**
 * One rule of a selection: the markets that it applies to, and the tier that they get. All conditions that
 * it names must hold; one that names none applies to every market. Names are compared without case; in
 * titles `*` stands for anything. `closesWithin` is in milliseconds.
 */
export type Rule = v.InferOutput<typeof RULE>

/** The rules of a venue as the configuration has them, or a word: its defaults, or everything. */
export type Selected = 'default' | 'all' | readonly v.InferInput<typeof RULE>[]

/** What rules look at; the venue's own record, which is large, is not needed. */
export type MarketFacts = Omit<MarketRecord, 'native'>

/** The first rule that applies to a market; number 0 where none does. */
export type RuleMatch = { readonly tier: CaptureTier; readonly number: number }

const SELECTED: v.GenericSchema<Selected> = v.custom<Selected>(
  (value) => value === 'default' || value === 'all' || v.is(RULES, value),
  ({ input }) => whyWrong(input),
)

/** The setting that says which markets of a venue are recorded, and how. */
export function selectSetting(defaults: string): Setting<Selected> {
  const text = `Which markets are recorded, and how: default (${defaults}), all, or a list of rules.`
  return { ...setting(SELECTED, 'default', text), fromText: parseSelected }
}

/** The rules that a checked setting stands for. */
export function toRules(selected: Selected, defaults: readonly Rule[]): readonly Rule[] {
  if (selected === 'default') return defaults
  return selected === 'all' ? [{ tier: 'full' }] : v.parse(RULES, selected)
}

/** The series of all markets that the rules select; undefined where any market may be selected. */
export function seriesOfRules(rules: readonly Rule[]): readonly string[] | undefined {
  const wanted = rules.filter(({ tier }) => tier !== 'none')
  if (wanted.some(({ series }) => series === undefined)) return undefined
  return [...new Set(wanted.flatMap(({ series = [] }) => series.map((one) => one.toUpperCase())))]
}

/** The assets and windows of all rounds that the rules select; undefined where other markets may be. */
export function roundsOfRules(
  rules: readonly Rule[],
): { readonly assets: readonly string[]; readonly windows: readonly string[] } | undefined {
  const wanted = rules.filter(({ tier }) => tier !== 'none')
  if (wanted.some(({ asset, window }) => asset === undefined || window === undefined)) {
    return undefined
  }
  return {
    assets: [...new Set(wanted.flatMap(({ asset = [] }) => asset.map((one) => one.toUpperCase())))],
    windows: [
      ...new Set(wanted.flatMap(({ window = [] }) => window.map((one) => one.toLowerCase()))),
    ],
  }
}

/** True where what rules select does not change with time, so that a market need not be looked at again. */
export function areLasting(rules: readonly Rule[]): boolean {
  return rules.every(
    ({ minVolume, minLiquidity, closesWithin }) =>
      minVolume === undefined && minLiquidity === undefined && closesWithin === undefined,
  )
}

/** Finds the first rule that applies to a market at a wall time. */
export function matchRules(rules: readonly Rule[], record: MarketFacts, nowMs: number): RuleMatch {
  const at = rules.findIndex((rule) => applies(rule, record, nowMs))
  return { tier: rules[at]?.tier ?? 'none', number: at + 1 }
}

/** A rule in words, with its number. */
export function describeRule(rules: readonly Rule[], number: number): string {
  const rule = rules[number - 1]
  return rule === undefined ? 'no rule' : `rule ${number} (${wordsOf(rule)})`
}

/** Max characters of a rule in words: they stand in the record of every market. */
const MAX_WORDS = 160
const words = new WeakMap<Rule, string>()

function wordsOf(rule: Rule): string {
  const known = words.get(rule)
  if (known !== undefined) return known
  const { tier: _tier, closesWithin, ...rest } = rule
  const parts = Object.entries(rest).map(
    ([name, said]) => `${name} ${Array.isArray(said) ? said.join(' or ') : said}`,
  )
  if (closesWithin !== undefined) parts.push(`closesWithin ${closesWithin / 3.6e6}h`)
  const text = parts.length === 0 ? 'every market' : parts.join(', ')
  const cut = text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text
  words.set(rule, cut)
  return cut
}

function applies(rule: Rule, record: MarketFacts, nowMs: number): boolean {
  const { event, eventTicker, eventId, topicId, closeTime } = record
  return (
    isNamed(rule.series, [record.seriesTicker]) &&
    isNamed(rule.event, [eventTicker, eventId, topicId, event?.slug]) &&
    isNamed(rule.category, [record.category]) &&
    isNamed(rule.tag, record.tags ?? []) &&
    isNamed(rule.asset, [record.asset]) &&
    isNamed(rule.window, [record.window]) &&
    isNamed(rule.market, [record.marketId, record.slug]) &&
    (rule.title?.some((like) => isLike(record, like)) ?? true) &&
    isAtLeast(record.volume, rule.minVolume) &&
    isAtLeast(record.liquidity, rule.minLiquidity) &&
    (rule.closesWithin === undefined ||
      (closeTime !== undefined && closeTime / 1000 - nowMs <= rule.closesWithin))
  )
}

function isNamed(
  wanted: readonly string[] | undefined,
  said: readonly (string | undefined)[],
): boolean {
  if (wanted === undefined) return true
  const lower = lowerOf(wanted)
  return said.some((name) => name !== undefined && lower.has(name.toLowerCase()))
}

const lowered = new WeakMap<readonly string[], ReadonlySet<string>>()

// Made once for each list: rules may name hundreds of series, and are asked for every market.
function lowerOf(names: readonly string[]): ReadonlySet<string> {
  const known = lowered.get(names)
  if (known !== undefined) return known
  const made = new Set(names.map((name) => name.toLowerCase()))
  lowered.set(names, made)
  return made
}

function isAtLeast(amount: string | undefined, min: number | undefined): boolean {
  return min === undefined || Number(amount ?? 0) >= min
}

// Looks for the parts of the pattern one after the other, so that no pattern can take long.
function isLike({ title = '', event }: MarketFacts, like: string): boolean {
  const parts = like.toLowerCase().split('*')
  return [title, event?.title ?? ''].some((text) => {
    const lower = text.toLowerCase()
    const [first = '', ...others] = parts
    const last = others.pop()
    if (last === undefined) return lower === first
    if (!lower.startsWith(first)) return false
    let from = first.length
    for (const part of others) {
      const at = lower.indexOf(part, from)
      if (at < 0) return false
      from = at + part.length
    }
    return lower.length - last.length >= from && lower.endsWith(last)
  })
}

function parseSelected(text: string): unknown {
  if (!text.trimStart().startsWith('[')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function whyWrong(value: unknown): string {
  const { issues } = v.safeParse(RULES, value)
  const [issue] = issues ?? []
  const at = (issue?.path ?? []).map(({ key }) => String(key))
  const where = at.length === 0 ? '' : `: rule ${Number(at[0]) + 1}${at[1] ? `, ${at[1]}` : ''}`
  return where === ''
    ? 'must be default, all, or a list of rules'
    : `${where.slice(2)} ${issue!.message}`
}
