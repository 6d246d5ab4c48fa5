import type { RoundCounts } from '../capture/past-rounds.ts'
/** A round of one family (a coin and a window), as a timeline, the list or the store names it. */
export type NamedRound = {
  readonly topicId: string
  readonly startMs: number
  readonly endMs: number
}

/** What is to be done next to walk a family further back. */
export type FamilyStep =
  /** Ask for the details of this round; `isNext` where it is the one that ends where the walk has come to. */
  | { readonly kind: 'ask'; readonly topicId: string; readonly isNext: boolean }
  /** Nobody named the round that ends here: the list may show it. */
  | { readonly kind: 'list'; readonly beforeMs: number }
  | { readonly kind: 'over' }

/** What asking for a round led to; `gone` is that the venue does not have it. */
export type RoundAnswer = 'complete' | 'unresolved' | 'gone'

/** Walks one family from the end of a range back to its start, asking for each round at most once. */
export interface FamilyWalk {
  readonly window: string
  /** Everything from here to the end of the range has been dealt with. */
  readonly cursorMs: number
  /** How long its rounds are. */
  readonly lengthMs: number
  readonly counts: RoundCounts
  /** Takes rounds that were named; `isComplete` are those that nothing is left to ask of. */
  learn(rounds: readonly NamedRound[], isComplete?: boolean): void
  answered(topicId: string, answer: RoundAnswer): void
  /** The list was looked at for what ends at the cursor. */
  listed(beforeMs: number): void
  next(): FamilyStep
}

type Round = NamedRound & { answer: RoundAnswer | undefined; isAsked: boolean }

/** Starts at the end of a range in milliseconds; rounds that lie in it as a whole are walked. */
export function createFamilyWalk(
  window: string,
  range: { readonly startMs: number; readonly endMs: number },
): FamilyWalk {
  const { startMs } = range
  const byTopic = new Map<string, Round>()
  const byEnd = new Map<number, Round[]>()
  const looked = new Set<number>()
  let cursorMs = range.endMs
  let lengthMs = nominalMs(window)
  // Rounds follow each other without a pause: the end of any of them is where all others can end.
  let gridMs = 0
  let unnamed = 0

  const roundsIn = (fromMs: number, toMs: number): number =>
    Math.max(0, Math.floor((toMs - gridMs) / lengthMs) - Math.ceil((fromMs - gridMs) / lengthMs))

  const isInside = (round: NamedRound): boolean =>
    round.startMs >= startMs && round.endMs <= range.endMs

  /** The known round with the latest end up to the cursor, or the earliest one after it. */
  function nearest(side: 'below' | 'above'): Round | undefined {
    const exact = side === 'below' ? byEnd.get(cursorMs) : undefined
    if (exact !== undefined) return exact.find(isOpenQuestion) ?? exact[0]
    let found: Round | undefined
    for (const round of byTopic.values()) {
      if (round.endMs > cursorMs !== (side === 'above')) continue
      const isNearer =
        found === undefined ||
        (side === 'above' ? round.endMs < found.endMs : round.endMs > found.endMs)
      const isSameAndOpen = found?.endMs === round.endMs && isOpenQuestion(round)
      if (isNearer || isSameAndOpen) found = round
    }
    return found
  }

  function ask(round: Round, isNext: boolean): FamilyStep {
    return { kind: 'ask', topicId: round.topicId, isNext }
  }

  function next(): FamilyStep {
    for (;;) {
      // How long a round really is shows with the first one.
      if (byTopic.size === 0 && !looked.has(cursorMs)) return { kind: 'list', beforeMs: cursorMs }
      if (cursorMs - startMs < lengthMs) return { kind: 'over' }
      const below = nearest('below')
      const holeMs = cursorMs - (below?.endMs ?? startMs)
      if (below !== undefined && holeMs < lengthMs) {
        if (below.startMs < startMs) return { kind: 'over' }
        if (isOpenQuestion(below)) return ask(below, true)
        cursorMs = below.startMs
        continue
      }
      // A hole: the rounds on either side of it may name what lies in it, and so may the list.
      const above = nearest('above')
      if (above !== undefined && !above.isAsked) return ask(above, false)
      if (!looked.has(cursorMs)) return { kind: 'list', beforeMs: cursorMs }
      if (below !== undefined && !below.isAsked) return ask(below, false)
      const bottomMs = Math.max(startMs, below?.endMs ?? startMs)
      unnamed += roundsIn(bottomMs, cursorMs)
      cursorMs = bottomMs
    }
  }

  return {
    window,
    get cursorMs() {
      return cursorMs
    },
    get lengthMs() {
      return lengthMs
    },
    get counts() {
      const counts = { complete: 0, unresolved: 0, gone: 0 }
      for (const round of byTopic.values()) {
        if (round.answer !== undefined && isInside(round)) counts[round.answer]++
      }
      return {
        expected: roundsIn(startMs, range.endMs),
        complete: counts.complete,
        unresolved: counts.unresolved,
        missing: unnamed + counts.gone,
      }
    },
    learn(rounds, isComplete = false) {
      for (const { topicId, startMs: from, endMs } of rounds) {
        const known = byTopic.get(topicId)
        if (isComplete && known !== undefined) known.answer = 'complete'
        if (known !== undefined || !(endMs > from)) continue
        const answer = isComplete ? 'complete' : undefined
        const round: Round = { topicId, startMs: from, endMs, answer, isAsked: false }
        byTopic.set(topicId, round)
        byEnd.set(endMs, [...(byEnd.get(endMs) ?? []), round])
        // Where time runs faster than life, so do the rounds.
        lengthMs = endMs - from
        gridMs = endMs
      }
    },
    answered(topicId, answer) {
      const round = byTopic.get(topicId)
      if (round === undefined) return
      round.isAsked = true
      // What was complete once stays so, also where the venue has let go of it.
      if (round.answer !== 'complete') round.answer = answer
    },
    listed(beforeMs) {
      looked.add(beforeMs)
    },
    next,
  }
}

function isOpenQuestion({ answer, isAsked }: Round): boolean {
  return answer !== 'complete' && !isAsked
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The length that the name of a window says: `15m` is 900,000. */
export function nominalMs(window: string): number {
  return Number(window.slice(0, -1)) * (UNITS_MS[window.slice(-1)] ?? NaN)
}
