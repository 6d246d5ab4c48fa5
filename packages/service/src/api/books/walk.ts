import type { MarketInstrument } from '../markets/instruments.ts'
import type { CursorState } from '../route.ts'
import { Receipt } from './receipt.ts'

/**
 * Where a walk over pages stands. What it walks over is fixed by its first page: rows that were stored
 * then, from the start of the range to its pinned end. Rows that come later belong to another walk.
 */
export type Walk = {
  /** Buckets that end after this may still change. */
  readonly settled: number
  /** Inclusive received time; 0: from the first row. */
  readonly start: number
  /** The start that is shown: that of the first row where none was asked for; −1: nothing recorded. */
  readonly shownStart: number
  /** Exclusive received time, pinned. */
  readonly end: number
  readonly lanes: readonly Lane[]
  /** The received time of the last row before this page; absent on the first. */
  readonly received?: number | undefined
  readonly receipt: Receipt
}

/** One instrument of a walk. */
export type Lane = {
  readonly instrument: MarketInstrument
  /** The last sequence that the walk has passed; absent before the first. */
  readonly position?: number | undefined
  /** The last sequence that was stored when the walk began, and its received time; 0: none. */
  readonly last: number
  readonly lastReceived: number
  /** Interval sampling: where the next bucket starts (asc) or the next one ends (desc). */
  readonly bound?: number | undefined
}

/** The walk as a cursor holds it; absent values of lanes are empty text between commas. */
export function toCursorState(walk: Walk): CursorState {
  const list = (pick: (lane: Lane) => number | undefined): string =>
    walk.lanes.map((lane) => pick(lane) ?? '').join(',')
  return {
    d: walk.settled,
    s: walk.start,
    v: walk.shownStart,
    e: walk.end,
    p: list(({ position }) => position),
    l: list(({ last }) => last),
    r: list(({ lastReceived }) => lastReceived),
    ...(walk.lanes.some(({ bound }) => bound !== undefined) && { b: list(({ bound }) => bound) }),
    t: walk.received ?? -1,
    c: walk.receipt.toText(),
  }
}

/** Reads what `toCursorState` wrote; only signed states come here. */
export function fromCursorState(
  state: CursorState,
  instruments: readonly MarketInstrument[],
): Walk {
  const number = (name: string): number => Number(state[name])
  const lists = new Map<string, readonly string[]>()
  for (const name of ['p', 'l', 'r', 'b']) lists.set(name, String(state[name] ?? '').split(','))
  const at = (name: string, lane: number): number | undefined => {
    const text = lists.get(name)?.[lane] ?? ''
    return text === '' ? undefined : Number(text)
  }
  const received = number('t')
  return {
    settled: number('d'),
    start: number('s'),
    shownStart: number('v'),
    end: number('e'),
    lanes: instruments.map((instrument, lane) => ({
      instrument,
      position: at('p', lane),
      last: at('l', lane) ?? 0,
      lastReceived: at('r', lane) ?? 0,
      bound: at('b', lane),
    })),
    received: received < 0 ? undefined : received,
    receipt: Receipt.fromText(String(state['c'])),
  }
}
