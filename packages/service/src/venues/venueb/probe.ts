/**
 * Finds subscriptions that fell silent. A quiet market sends nothing for minutes, and so does a dead
 * one: after a while of silence one book is asked for, and whatever comes is proof of life.
 */
export interface Probe {
  /** A book message of this subscription came. */
  heard(sid: number, ticker: string, nowMs: number, isFull: boolean): void
  /** A market left its subscription. */
  forget(ticker: string): void
  /** The venue answered a command of this subscription, even with an error. */
  answered(sid: number): void
  /** What to ask for now: one book that was already sent in full on this connection. */
  due(nowMs: number): readonly { readonly sid: number; readonly ticker: string }[]
  /** Subscriptions that did not answer. */
  dead(nowMs: number): readonly number[]
  ended(sid: number): void
  clear(): void
  /** How many markets are known to be served by the connection. */
  readonly size: number
}

/** Together within the 6 s in which silence must be found. */
export const QUIET_MS = 2_500
const ANSWER_MS = 3_000

type State = { heard: number; asked: number | undefined; readonly tickers: Set<string> }

/** Creates a probe that knows of no subscription. Its periods are those of a network, at any speed. */
export function createProbe(): Probe {
  const states = new Map<number, State>()
  return {
    heard(sid, ticker, nowMs, isFull) {
      let state = states.get(sid)
      if (state === undefined) {
        state = { heard: nowMs, asked: undefined, tickers: new Set() }
        states.set(sid, state)
      }
      state.heard = nowMs
      state.asked = undefined
      if (isFull) state.tickers.add(ticker)
    },
    forget(ticker) {
      for (const { tickers } of states.values()) tickers.delete(ticker)
    },
    answered(sid) {
      const state = states.get(sid)
      if (state !== undefined) state.asked = undefined
    },
    due(nowMs) {
      const asks: { sid: number; ticker: string }[] = []
      for (const [sid, state] of states) {
        const [ticker] = state.tickers
        if (state.asked !== undefined || ticker === undefined) continue
        if (nowMs - state.heard < QUIET_MS) continue
        state.asked = nowMs
        // To the end of the set: the next time it is another one's turn.
        state.tickers.delete(ticker)
        state.tickers.add(ticker)
        asks.push({ sid, ticker })
      }
      return asks
    },
    dead: (nowMs) =>
      [...states].flatMap(([sid, { asked }]) =>
        asked !== undefined && nowMs - asked > ANSWER_MS ? [sid] : [],
      ),
    ended: (sid) => void states.delete(sid),
    clear: () => states.clear(),
    get size() {
      let size = 0
      for (const { tickers } of states.values()) size += tickers.size
      return size
    },
  }
}
