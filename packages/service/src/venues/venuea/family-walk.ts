import type { RoundCounts } from '../capture/past-rounds.ts'

/** A round of one family (a coin and a window), named by a timeline, the list or the store. */
export type NamedRound = {
  readonly topicId: string
  readonly startMs: number
  readonly endMs: number
}

/** The next step to walk a family further back. */
export type FamilyStep =
  /** Request the details of this round; `isNext` where it is the one that ends at the cursor. */
  | { readonly kind: 'request'; readonly topicId: string; readonly isNext: boolean }
  /** No known round ends here: the list may show one. */
  | { readonly kind: 'list'; readonly beforeMs: number }
  | { readonly kind: 'over' }

/** The result of requesting a round; `gone` means that the venue does not have it. */
export type RoundAnswer = 'complete' | 'unresolved' | 'gone'

type Round = NamedRound & { answer: RoundAnswer | undefined; isRequested: boolean }

/**
 * Walks one family from the end of a range back to its start and requests each round at most once. Only
 * rounds that lie in the range as a whole count.
 */
export class FamilyWalk {
  readonly window: string
  readonly #startMs: number
  readonly #endMs: number
  readonly #byTopic = new Map<string, Round>()
  readonly #byEnd = new Map<number, Round[]>()
  readonly #listed = new Set<number>()
  #cursorMs: number
  #lengthMs: number
  /** An end of a round. Rounds follow each other without a pause, so all ends lie on this grid. */
  #gridMs = 0
  #unnamed = 0

  constructor(window: string, range: { readonly startMs: number; readonly endMs: number }) {
    this.window = window
    this.#startMs = range.startMs
    this.#endMs = range.endMs
    this.#cursorMs = range.endMs
    this.#lengthMs = nominalMs(window)
  }

  /** Everything from here to the end of the range is done. */
  get cursorMs(): number {
    return this.#cursorMs
  }

  /** How long its rounds are. */
  get lengthMs(): number {
    return this.#lengthMs
  }

  get counts(): RoundCounts {
    const counts = { complete: 0, unresolved: 0, gone: 0 }
    for (const { answer, startMs, endMs } of this.#byTopic.values()) {
      if (answer !== undefined && startMs >= this.#startMs && endMs <= this.#endMs) counts[answer]++
    }
    return {
      expected: this.#roundsIn(this.#startMs, this.#endMs),
      complete: counts.complete,
      unresolved: counts.unresolved,
      missing: this.#unnamed + counts.gone,
    }
  }

  /** Adds named rounds; of those that are complete, nothing is left to request. */
  learn(rounds: readonly NamedRound[], isComplete = false): void {
    for (const { topicId, startMs, endMs } of rounds) {
      const known = this.#byTopic.get(topicId)
      if (isComplete && known !== undefined) known.answer = 'complete'
      if (known !== undefined || !(endMs > startMs)) continue
      const answer = isComplete ? 'complete' : undefined
      const round: Round = { topicId, startMs, endMs, answer, isRequested: false }
      this.#byTopic.set(topicId, round)
      this.#byEnd.set(endMs, [...(this.#byEnd.get(endMs) ?? []), round])
      // At a higher speed of the emulator, rounds are shorter than their names.
      this.#lengthMs = endMs - startMs
      this.#gridMs = endMs
    }
  }

  answered(topicId: string, answer: RoundAnswer): void {
    const round = this.#byTopic.get(topicId)
    if (round === undefined) return
    round.isRequested = true
    // A complete round stays complete, also after the venue has deleted it.
    if (round.answer !== 'complete') round.answer = answer
  }

  /** The list was read for rounds that end at this cursor. */
  listed(beforeMs: number): void {
    this.#listed.add(beforeMs)
  }

  next(): FamilyStep {
    for (;;) {
      const cursorMs = this.#cursorMs
      const isListed = this.#listed.has(cursorMs)
      // The first round shows how long rounds really are.
      if (this.#byTopic.size === 0 && !isListed) return { kind: 'list', beforeMs: cursorMs }
      if (cursorMs - this.#startMs < this.#lengthMs) return { kind: 'over' }
      const below = this.#nearest('below')
      const holeMs = cursorMs - (below?.endMs ?? this.#startMs)
      if (below !== undefined && holeMs < this.#lengthMs) {
        if (below.startMs < this.#startMs) return { kind: 'over' }
        if (isUnanswered(below)) return requestOf(below, true)
        this.#cursorMs = below.startMs
        continue
      }
      // A hole: the rounds on either side of it may name the rounds in it, and so may the list.
      const above = this.#nearest('above')
      if (above !== undefined && !above.isRequested) return requestOf(above, false)
      if (!isListed) return { kind: 'list', beforeMs: cursorMs }
      if (below !== undefined && !below.isRequested) return requestOf(below, false)
      const bottomMs = Math.max(this.#startMs, below?.endMs ?? this.#startMs)
      this.#unnamed += this.#roundsIn(bottomMs, cursorMs)
      this.#cursorMs = bottomMs
    }
  }

  #roundsIn(fromMs: number, toMs: number): number {
    const first = Math.ceil((fromMs - this.#gridMs) / this.#lengthMs)
    return Math.max(0, Math.floor((toMs - this.#gridMs) / this.#lengthMs) - first)
  }

  /** The known round with the latest end up to the cursor, or the one with the earliest end after it. */
  #nearest(side: 'below' | 'above'): Round | undefined {
    const exact = side === 'below' ? this.#byEnd.get(this.#cursorMs) : undefined
    if (exact !== undefined) return exact.find(isUnanswered) ?? exact[0]
    let found: Round | undefined
    for (const round of this.#byTopic.values()) {
      if (round.endMs > this.#cursorMs !== (side === 'above')) continue
      const isNearer =
        found === undefined ||
        (side === 'above' ? round.endMs < found.endMs : round.endMs > found.endMs)
      if (isNearer || (found?.endMs === round.endMs && isUnanswered(round))) found = round
    }
    return found
  }
}

function requestOf({ topicId }: Round, isNext: boolean): FamilyStep {
  return { kind: 'request', topicId, isNext }
}

function isUnanswered({ answer, isRequested }: Round): boolean {
  return answer !== 'complete' && !isRequested
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The length that the name of a window says: `15m` is 900,000. */
export function nominalMs(window: string): number {
  return Number(window.slice(0, -1)) * (UNITS_MS[window.slice(-1)] ?? NaN)
}
