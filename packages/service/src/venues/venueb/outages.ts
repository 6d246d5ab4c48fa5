import type { GapReason } from '@priorbook/sdk/domain'

/** Finds polled markets that brought no good answer for too long. No clock: times are given, in milliseconds. */
export interface Outages {
  good(key: string, nowMs: number): void
  /** A poll brought nothing; the last reason is the one that is told. */
  bad(key: string, reason: GapReason, why: string): void
  forget(key: string): void
  /** Markets that are out since the last call, each once per outage. */
  found(
    nowMs: number,
    intervalMs: (key: string) => number,
    isUnderWay: (key: string) => boolean,
  ): readonly { readonly key: string; readonly reason: GapReason; readonly why: string }[]
  /** How many markets are out now. */
  readonly size: number
}

/** An outage begins after this many realized intervals. */
export const OUTAGE_INTERVALS = 3
const SMOOTHING = 0.3
// Polls of loopback and of a browser tab apart: less than this is no outage of anything.
const LEAST_MS = 1_000

type State = {
  lastGood: number
  /** The realized interval, exponentially averaged; absent until a second good answer. */
  realizedMs: number | undefined
  failure: { readonly reason: GapReason; readonly why: string } | undefined
  isOut: boolean
}

/** Creates a list without markets; one that never gave a good answer is not out. */
export function createOutages(): Outages {
  const states = new Map<string, State>()
  let out = 0

  function end(state: State): void {
    if (state.isOut) out--
    state.isOut = false
  }

  return {
    good(key, nowMs) {
      const state = states.get(key)
      if (state === undefined) {
        const fresh = { realizedMs: undefined, failure: undefined, isOut: false }
        states.set(key, { lastGood: nowMs, ...fresh })
        return
      }
      // The span of an outage is no habit.
      if (!state.isOut) {
        const seen = nowMs - state.lastGood
        const before = state.realizedMs ?? seen
        state.realizedMs = before + SMOOTHING * (seen - before)
      }
      state.lastGood = nowMs
      state.failure = undefined
      end(state)
    },
    bad(key, reason, why) {
      const state = states.get(key)
      if (state !== undefined) state.failure = { reason, why }
    },
    forget(key) {
      const state = states.get(key)
      if (state === undefined) return
      end(state)
      states.delete(key)
    },
    found(nowMs, intervalMs, isUnderWay) {
      const list: { key: string; reason: GapReason; why: string }[] = []
      for (const [key, state] of states) {
        if (state.isOut) continue
        const quiet = nowMs - state.lastGood
        // The plan may just have made the interval longer.
        const usual = Math.max(LEAST_MS, state.realizedMs ?? 0, intervalMs(key))
        if (quiet <= OUTAGE_INTERVALS * usual) continue
        state.isOut = true
        out++
        const { reason, why } =
          state.failure ??
          (isUnderWay(key)
            ? { reason: 'venue_silent' as const, why: 'no answer yet' }
            : { reason: 'quota' as const, why: 'no poll was allowed' })
        list.push({ key, reason, why: `${why}; no good answer for ${Math.round(quiet)} ms` })
      }
      return list
    },
    get size() {
      return out
    },
  }
}
