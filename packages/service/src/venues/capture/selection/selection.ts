import { crc32 } from 'node:zlib'
import type { CaptureDecision, CaptureTier, MarketStatus } from '@priorbook/sdk/domain'
import { BoundedMap } from '../../../lib/bounded-map.ts'
import { describeRule, matchRules, type MarketFacts, type Rule } from './rules.ts'

/** What a selection needs to know beside its rules. */
export type SelectionOptions = {
  readonly rules: readonly Rule[]
  /** Markets that never lose their tier to others. */
  readonly pinned: readonly string[]
  /** How many books each tier holds at most. */
  readonly bounds: { readonly full: number; readonly polled: number }
  /** How many books a market has. */
  readonly booksPerMarket: number
}

/** A number that changes with the rules: a walk by other rules kept other markets. */
export function rulesNumber({ rules, pinned }: SelectionOptions): number {
  return crc32(JSON.stringify([rules, pinned]))
}

/** True for a tier in which books are recorded; their number has a bound. */
export function hasBooks(tier: CaptureTier | undefined): tier is 'full' | 'polled' {
  return tier === 'full' || tier === 'polled'
}

/** Markets that got a tier for one reason. */
export type TierChange = CaptureDecision & { readonly markets: readonly string[] }

/** A market, what is decided about it, and the number of the rule that applies to it. */
export type SurveyedMarket = CaptureDecision & {
  readonly facts: MarketFacts
  readonly activity: number
  readonly rule: number
}

type Entry = {
  /** What the rules want for it, and the rule that does. */
  wanted: CaptureTier
  rule: number
  facts: MarketFacts
  activity: number
  /** What it has; undefined until the first decision. */
  decision: CaptureDecision | undefined
}

/** A market that has books loses them only to one that is this much more active. */
const HYSTERESIS = 1.5
/** A market that no connector follows is forgotten this long after its close. */
const GONE_MS = 3_600_000
const MAX_ENDED = 20_000
const BOUNDED = ['full', 'polled'] as const
const BELOW = { full: 'polled', polled: 'catalogue' } as const

/**
 * Decides how deep each market of a venue is recorded. Rules say what is wanted; where more books are wanted
 * than a tier holds, the most active markets have them, and the others fall to the tier below.
 */
export class Selection {
  #options: SelectionOptions
  #pinned: ReadonlySet<string>
  readonly #entries = new Map<string, Entry>()
  /** Books that each tier holds. */
  readonly #held = { full: 0, polled: 0 }
  /** Markets by tier. */
  readonly #counts = { full: 0, polled: 0, catalogue: 0, none: 0 }
  /** The last decisions about markets that ended: they may open again. */
  readonly #ended = new BoundedMap<string, CaptureDecision>(MAX_ENDED)
  /** True where a market has less than its rule wants. */
  #isCrowded = false

  constructor(options: SelectionOptions) {
    this.#options = options
    this.#pinned = new Set(options.pinned)
  }

  /** Replaces the rules; `review` then says what changes. */
  change(options: SelectionOptions): void {
    this.#options = options
    this.#pinned = new Set(options.pinned)
  }

  /**
   * Takes what a message says of a market. Undefined for one that ended and has no place: nothing is decided
   * about it any more.
   */
  judge(record: MarketFacts, activity: number, nowMs: number): CaptureDecision | undefined {
    if (isOver(record) && !this.#entries.has(record.marketId)) return undefined
    return this.update(record, activity, nowMs)
  }

  /** Takes a market of an earlier run with what was decided then; `review` says what changes. */
  adopt(record: MarketFacts, activity: number, nowMs: number): void {
    if (isOver(record) || this.#entries.has(record.marketId)) return
    const facts = withoutNative(record)
    const entry = this.#create(facts)
    entry.activity = activity
    this.#match(entry, nowMs)
    this.#decide(entry, facts.capture ?? this.#place(entry))
  }

  /** Takes what is known of a market now; a new one gets its tier at once where there is room. */
  update(record: MarketFacts, activity: number, nowMs: number): CaptureDecision {
    const known = this.#entries.get(record.marketId)
    const facts = withoutNative(record)
    const entry = known ?? this.#create(facts)
    // Some messages say only a part of what is known.
    entry.facts = { ...entry.facts, ...facts }
    entry.activity = activity
    this.#match(entry, nowMs)
    if (entry.decision === undefined) this.#decide(entry, this.#place(entry))
    return entry.decision!
  }

  /** The tier of a market, also of one that ended lately; undefined for one that was never named. */
  tierOf(marketId: string): CaptureTier | undefined {
    return (this.#entries.get(marketId)?.decision ?? this.#ended.get(marketId))?.tier
  }

  /**
   * The place of a market among those whose books open: the lowest first. After a restart the store is read once
   * for each book, and a few markets send most messages. With the quiet ones first, tens of thousands of books
   * open before those messages take the time that is left; pinned markets come before all others.
   */
  openingOrderOf(marketId: string): number {
    return this.#pinned.has(marketId) ? -1 : (this.#entries.get(marketId)?.activity ?? 0)
  }

  /** What is known of a market; undefined for one that was never named. */
  factsOf(marketId: string): MarketFacts | undefined {
    return this.#entries.get(marketId)?.facts
  }

  /** All markets with the decisions about them. */
  *survey(): Generator<SurveyedMarket> {
    for (const { facts, activity, rule, decision } of this.#entries.values()) {
      if (decision !== undefined) yield { facts, activity, rule, ...decision }
    }
  }

  /** Forgets markets that ended; true where others wait for the places of their books. */
  forget(marketIds: Iterable<string>): boolean {
    let hasRoom = false
    for (const marketId of marketIds) {
      const entry = this.#entries.get(marketId)
      if (entry === undefined) continue
      const { tier } = entry.decision!
      this.#remove(marketId, entry)
      hasRoom ||= hasBooks(tier)
    }
    return hasRoom && this.#isCrowded
  }

  /** Decides again for all markets; returns what changed, grouped by tier and reason. */
  review(nowMs: number, isFollowed: (marketId: string) => boolean): readonly TierChange[] {
    for (const [marketId, entry] of this.#entries) {
      const { closeTime = Infinity } = entry.facts
      // Nobody else says when a market ended that is not followed.
      const isGone = closeTime / 1000 + GONE_MS < nowMs && !isFollowed(marketId)
      if (isGone) this.#remove(marketId, entry)
      else this.#match(entry, nowMs)
    }
    this.#isCrowded = false
    const changed = new Map<string, { decision: CaptureDecision; markets: string[] }>()
    for (const [entry, decision] of this.#share()) {
      const before = entry.decision
      if (before?.tier === decision.tier && before.why === decision.why) continue
      this.#decide(entry, decision)
      const name = `${decision.tier} ${decision.why}`
      const group = changed.get(name) ?? { decision, markets: [] }
      group.markets.push(entry.facts.marketId)
      changed.set(name, group)
    }
    return [...changed.values()].map(({ decision, markets }) => ({ ...decision, markets }))
  }

  /** How many books each tier holds now, and its bound. */
  get held(): Readonly<Record<'full' | 'polled', number>> {
    return this.#held
  }

  /** How many markets each tier has now. */
  get counts(): Readonly<Record<CaptureTier, number>> {
    return { ...this.#counts }
  }

  #remove(marketId: string, entry: Entry): void {
    this.#entries.delete(marketId)
    this.#hold(entry.decision?.tier, -1)
    if (entry.decision !== undefined) this.#ended.set(marketId, entry.decision)
  }

  #create(facts: MarketFacts): Entry {
    const entry: Entry = { wanted: 'none', rule: 0, facts, activity: 0, decision: undefined }
    this.#entries.set(facts.marketId, entry)
    return entry
  }

  #match(entry: Entry, nowMs: number): void {
    const { tier, number } = matchRules(this.#options.rules, entry.facts, nowMs)
    // A pinned market has its books whatever the rules say.
    const isPinned = this.#pinned.has(entry.facts.marketId)
    entry.wanted = isPinned ? 'full' : tier
    entry.rule = isPinned ? 0 : number
  }

  #decide(entry: Entry, decision: CaptureDecision): void {
    this.#hold(entry.decision?.tier, -1)
    this.#hold(decision.tier, 1)
    entry.decision = decision
  }

  #hold(tier: CaptureTier | undefined, sign: 1 | -1): void {
    if (tier !== undefined) this.#counts[tier] += sign
    if (hasBooks(tier)) this.#held[tier] += sign * this.#options.booksPerMarket
  }

  // The place of a new market while nobody has to leave for it.
  #place(entry: Entry): CaptureDecision {
    const { bounds, booksPerMarket } = this.#options
    let tier = entry.wanted
    while (hasBooks(tier)) {
      if (this.#held[tier] + booksPerMarket <= bounds[tier]) break
      tier = BELOW[tier]
    }
    return this.#reason(entry, tier)
  }

  #reason(entry: Entry, tier: CaptureTier): CaptureDecision {
    const isPinned = this.#pinned.has(entry.facts.marketId)
    const rule = isPinned ? 'pinned' : describeRule(this.#options.rules, entry.rule)
    if (tier === entry.wanted) return { tier, why: rule }
    this.#isCrowded = true
    const bound = this.#options.bounds[entry.wanted as 'full' | 'polled']
    return {
      tier,
      why: `${rule} wants ${entry.wanted}; more active markets have its ${bound} books`,
    }
  }

  // The decision for every market, each tier filled from the most active one on.
  #share(): Map<Entry, CaptureDecision> {
    const { bounds, booksPerMarket } = this.#options
    const decided = new Map<Entry, CaptureDecision>()
    const waiting: Record<'full' | 'polled', Entry[]> = { full: [], polled: [] }
    for (const entry of this.#entries.values()) {
      if (hasBooks(entry.wanted)) waiting[entry.wanted].push(entry)
      else decided.set(entry, this.#reason(entry, entry.wanted))
    }
    for (const tier of BOUNDED) {
      const room = Math.floor(bounds[tier] / booksPerMarket)
      const ranked = waiting[tier]
      if (ranked.length > room) this.#rank(ranked, tier)
      for (const entry of ranked.splice(0, room)) decided.set(entry, this.#reason(entry, tier))
      const below = BELOW[tier]
      if (below === 'polled') waiting.polled.push(...ranked)
      else for (const entry of ranked) decided.set(entry, this.#reason(entry, below))
    }
    return decided
  }

  #rank(entries: Entry[], tier: 'full' | 'polled'): void {
    const scoreOf = (entry: Entry): number => {
      if (this.#pinned.has(entry.facts.marketId)) return Infinity
      return entry.activity * (entry.decision?.tier === tier ? HYSTERESIS : 1)
    }
    const closeOf = ({ facts }: Entry): number => facts.closeTime ?? Infinity
    const hasPlace = (entry: Entry): number => Number(entry.decision?.tier === tier)
    entries.sort(
      (a, b) =>
        compare(scoreOf(b), scoreOf(a)) ||
        hasPlace(b) - hasPlace(a) ||
        compare(closeOf(a), closeOf(b)) ||
        (a.facts.marketId < b.facts.marketId ? -1 : 1),
    )
  }
}

function withoutNative(record: MarketFacts & { readonly native?: unknown }): MarketFacts {
  const { native: _native, ...facts } = record
  return facts
}

const OVER: ReadonlySet<MarketStatus> = new Set(['determined', 'disputed', 'resolved', 'voided'])

function isOver({ status, resolution }: MarketFacts): boolean {
  return resolution?.state === 'final' || (status !== undefined && OVER.has(status))
}

// Infinity minus itself is not a number.
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}
