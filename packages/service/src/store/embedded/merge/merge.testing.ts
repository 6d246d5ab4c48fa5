import { expect } from 'vitest'
import type { DataFolder } from '../../../lib/data-folder.ts'
import { record, type Script, read } from '../../../recorder/scripted.testing.ts'
import { mergeRecorders, type MergeReport } from './merge.ts'
import { compareStores } from '../../../derive/rebuild.ts'

/** The market of the scripts. */
export const TICKER = 'KXTEST15M-26SEP211200-15'

/** One thing that the venue said, in ms after the start: a signed change, or the whole book again. */
export type Said = {
  readonly at: number
  readonly change?: { readonly cents: number; readonly by: number }
}

/** A span in which a recorder heard nothing: noticed at once, noticed at the end, or not running. */
export type Cut = {
  readonly from: number
  readonly to: number
  readonly kind: 'noticed' | 'missing' | 'down'
}

/** A venue that sends a full book first and then changes, now and then the full book again. */
export function createVenue(random: () => number, count: number): Said[] {
  const sizes = new Map<number, number>()
  const said: Said[] = [{ at: 0 }]
  let at = 0
  for (let index = 0; index < count; index++) {
    at += 1 + Math.floor(random() * 200)
    if (random() < 0.1) {
      said.push({ at })
      continue
    }
    const cents = 1 + Math.floor(random() * 12)
    const size = Math.floor(random() * 9)
    const by = size - (sizes.get(cents) ?? 0)
    sizes.set(cents, size)
    said.push({ at, change: { cents, by } })
  }
  return said
}

/** Cuts that do not touch and lie between messages, never at one. */
export function createCuts(random: () => number, end: number): Cut[] {
  const cuts: Cut[] = []
  const kinds = ['noticed', 'missing', 'down'] as const
  for (let at = 0; ;) {
    const from = at + 1 + Math.floor(random() * 1500) + 0.5
    const to = from + 1 + Math.floor(random() * 1000)
    if (to >= end) return cuts
    cuts.push({ from, to, kind: kinds[Math.floor(random() * kinds.length)]! })
    at = Math.floor(to)
  }
}

/** The book at a time as `booksOf` prints it. */
export function bookAt(said: readonly Said[], at: number): string {
  const levels = levelsAt(said, at).sort(([a], [b]) => b - a)
  return `${levels.map(([cents, size]) => `${cents / 100}×${size}`).join(' ')} | 0.9×20`
}

/** When a recorder with these cuts has a row, by ms after the start. */
export function rowTimes(said: readonly Said[], cuts: readonly Cut[]): number[] {
  const heard = said.filter((one) => !cuts.some(({ from, to }) => from < one.at && one.at < to))
  return [...heard.map((one) => one.at), ...cuts.map(({ to }) => to)].sort((a, b) => a - b)
}

/** Spans in which a recorder with these cuts was blind, the one after its end included. */
export function blindSpans(said: readonly Said[], cuts: readonly Cut[]): [number, number][] {
  const rows = rowTimes(said, cuts)
  const spans = cuts.map(({ from, to }): [number, number] => [
    rows.findLast((at) => at < from)!,
    to,
  ])
  return [...spans, [rows.at(-1)!, Infinity]]
}

/** Lets one recorder hear the venue with cuts; each restart is a new process for it. */
export async function hear(
  data: DataFolder,
  recorder: string,
  said: readonly Said[],
  cuts: readonly Cut[],
): Promise<void> {
  const isHeard = ({ at }: Said): boolean => !cuts.some(({ from, to }) => from < at && at < to)
  const steps = [
    ...said.filter(isHeard).map((one) => ({ at: one.at, one })),
    ...cuts.flatMap((cut) => [
      { at: cut.from, cut },
      { at: cut.to, cut, isEnd: true },
    ]),
  ].sort((a, b) => a.at - b.at)
  let next = 0
  let now = 0
  const run = (script: Script): void => {
    let venue = connectTo(script)
    const goTo = (at: number): void => {
      script.wait(at - now)
      now = at
    }
    for (; next < steps.length; next++) {
      const step = steps[next]!
      goTo(step.at)
      if ('one' in step) {
        const { change } = step.one
        if (change === undefined) venue.full(levelsAt(said, step.at))
        else venue.change(change.cents, change.by)
      } else if ('isEnd' in step) {
        if (step.cut.kind !== 'noticed') venue.lose('sequence_break')
        venue = connectTo(script)
        venue.full(levelsAt(said, step.at))
      } else if (step.cut.kind === 'noticed') venue.lose('disconnected')
      else if (step.cut.kind === 'down') {
        next++
        return
      }
    }
  }
  for (let fresh = true; next < steps.length; fresh = false) {
    await record(data, 'venueb', run, { fresh, recorder })
  }
  expect(now).toBe(steps.at(-1)!.at)
}

function connectTo(script: Script) {
  let seq = 0
  const send = (type: string, msg: object): void =>
    script.frame(1, { type, sid: 1, seq: ++seq, msg: { market_ticker: TICKER, ...msg } })
  script.note({ note: 'connected', slot: 1, url: 'ws://b' })
  return {
    full: (levels: readonly (readonly [number, number])[]) =>
      send('orderbook_snapshot', {
        yes_dollars_fp: levels.map(([cents, size]) => [toDollars(cents), `${size}.00`]),
        no_dollars_fp: [['0.1000', '20.00']],
      }),
    change: (cents: number, by: number) =>
      send('orderbook_delta', {
        price_dollars: toDollars(cents),
        delta_fp: `${by}.00`,
        side: 'yes',
      }),
    lose: (reason: 'disconnected' | 'sequence_break') =>
      script.note({ note: 'loss', reason, why: 'cut', slot: 1 }),
  }
}

function levelsAt(said: readonly Said[], at: number): [number, number][] {
  const sizes = new Map<number, number>()
  for (const { at: when, change } of said) {
    if (when > at || change === undefined) continue
    sizes.set(change.cents, (sizes.get(change.cents) ?? 0) + change.by)
  }
  return [...sizes].filter(([, size]) => size > 0)
}

function toDollars(cents: number): string {
  return (cents / 100).toFixed(4)
}

/** Merges data folders of a test. */
export async function merge(target: DataFolder, ...folders: DataFolder[]): Promise<MergeReport> {
  return mergeRecorders({ target: target.path, folders: folders.map(({ path }) => path) })
}

/** What two tapes have different, down to the hashes of chunks. */
export async function mergeDifferences(
  one: DataFolder,
  other: DataFolder,
): Promise<readonly unknown[]> {
  return read(one, (a) => read(other, async (b) => (await compareStores(a, b)).differences))
}
