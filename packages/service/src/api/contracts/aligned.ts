import { VENUES, type Gap } from '@priorbook/sdk/domain'
import type { BookPick } from '@priorbook/sdk/tape'
import {
  scaledJson,
  timeJson,
  type ContractSnapshotJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { InstrumentFacts } from '../../store/store.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import type { ApiContext } from '../route.ts'
import { gapAt, gapsOfBook } from './dark-spans.ts'
import type { ContractMember } from './find.ts'
import { memberInstruments, type MemberInstrument } from './member-book.ts'

/** Which buckets to read. */
export type AlignedQuery = {
  /** Inclusive and exclusive received time. */
  readonly start: number
  readonly end: number
  readonly interval: number
  readonly limit: number
  /** Before this the plan includes nothing. */
  readonly window: number
}

/** The rows of a page, and where the next one begins. */
export type AlignedPage = {
  readonly rows: readonly ContractSnapshotJson[]
  readonly gaps: readonly Gap[]
  /** The start of the next bucket; undefined at the end. */
  readonly next: number | undefined
}

type Quote = ContractSnapshotJson['members'][number]

/** Reads the best prices of all members, bucket by bucket. */
export async function readAligned(
  context: ApiContext,
  members: readonly ContractMember[],
  query: AlignedQuery,
  style: ValueStyle,
): Promise<AlignedPage> {
  const { interval, limit } = query
  const first = Math.floor(query.start / interval) * interval
  const count = Math.min(limit, Math.ceil((query.end - first) / interval))
  const end = Math.min(query.end, first + count * interval)
  const lanes: MemberLane[] = []
  for (const one of await memberInstruments(context, members)) {
    lanes.push(await readLane(context, one, { ...query, end }))
  }
  const rows = Array.from({ length: Math.max(0, count) }, (_, index): ContractSnapshotJson => {
    const start = first + index * interval
    const until = Math.min(start + interval, query.end)
    return {
      bucket_start: timeJson(start, style)!,
      bucket_end: timeJson(start + interval, style)!,
      members: lanes.map((lane) => lane.quote(start, until, style)),
    }
  })
  const gaps = [...new Set(lanes.flatMap((lane) => lane.gaps))]
  return { rows, gaps, next: end < query.end ? end : undefined }
}

async function readLane(
  context: ApiContext,
  one: MemberInstrument,
  { start, end, interval, window }: AlignedQuery,
): Promise<MemberLane> {
  const { instrument } = one
  const from = Math.max(start, window)
  if (instrument === undefined || end <= from) {
    return new MemberLane(one, { picks: [], gaps: [], interval, window })
  }
  const { venue, key } = instrument
  const { store } = context
  const limit = Math.ceil((end - start) / interval) + 1
  const query = { venue, key, start: from, end, interval, limit, order: 'asc', depth: 1 } as const
  const { picks, corrupt } = await store.booksByInterval(query)
  // Read after the rows, so that rows which were removed meanwhile are explained.
  const gaps = await gapsOfBook(context, instrument, { start, end })
  const facts = await store.instrument({ venue, key })
  const touching = gaps.filter((gap) => gap.start < end && (gap.end ?? Infinity) > start)
  const isEarly = (facts?.firstReceived ?? Infinity) > start
  const removed = isEarly ? await findRemoved(store, { venue, key }, end - 1) : undefined
  const read = { picks, gaps: [...touching, ...corrupt], facts, removed }
  return new MemberLane(one, { ...read, interval, window })
}

/** What was read of one member. */
class MemberLane {
  readonly gaps: readonly Gap[]
  readonly #one: MemberInstrument
  readonly #picks: ReadonlyMap<number, BookPick>
  readonly #facts: InstrumentFacts | undefined
  readonly #removed: Gap | undefined
  readonly #window: number

  constructor(
    one: MemberInstrument,
    read: {
      readonly picks: readonly BookPick[]
      readonly gaps: readonly Gap[]
      readonly facts?: InstrumentFacts | undefined
      /** The gap in place of rows that retention removed. */
      readonly removed?: Gap | undefined
      readonly interval: number
      readonly window: number
    },
  ) {
    this.#one = one
    this.#picks = new Map(
      read.picks.map((pick) => [
        Math.floor(pick.columns.received[pick.row]! / read.interval) * read.interval,
        pick,
      ]),
    )
    this.gaps = read.gaps
    this.#facts = read.facts
    this.#removed = read.removed
    this.#window = read.window
  }

  /** The best prices in a bucket, or why there are none. */
  quote(start: number, end: number, style: ValueStyle): Quote {
    const { record } = this.#one.member.state
    const { venue, marketId } = record
    const pick = this.#picks.get(start)
    const gap = gapAt(this.gaps, end - 1)
    const reason = gap?.reason ?? (pick === undefined ? this.#reasonAt(start, end - 1) : null)
    const none = { venue, market_id: marketId, ...NOTHING, reason }
    if (pick === undefined || gap !== undefined) return none
    const { key } = this.#one.instrument!
    const { sizeDecimals } = VENUES[venue]
    const received = pick.columns.received[pick.row]!
    const { bid, ask, decimals } = bestOf(pick, this.#one.isComplement)
    const price = (level: Level | undefined) =>
      level === undefined ? null : scaledJson(level.price, decimals, style)
    const size = (level: Level | undefined) =>
      level === undefined ? null : scaledJson(level.size, sizeDecimals, style)
    return {
      venue,
      market_id: marketId,
      best_bid: price(bid),
      best_bid_size: size(bid),
      best_ask: price(ask),
      best_ask_size: size(ask),
      row_id: `${venue}:${key}:${pick.sequence}`,
      received_time: timeJson(received, style),
      age_ms: scaledJson(end - received, 3, style),
      reason: null,
    }
  }

  // Why there is no book in a bucket; `time` is its last instant.
  #reasonAt(start: number, time: number): string {
    const { openTime, closeTime } = this.#one.member.state.record
    const { firstReceived = Infinity, lastReceived = 0 } = this.#facts ?? {}
    if (time < this.#window) return 'plan_window'
    if (time < firstReceived) {
      const { start: from = Infinity, end: to = 0 } = this.#removed ?? {}
      if (from <= time) return to > start ? 'retention' : 'no_observation'
      return openTime !== undefined && time < openTime ? 'market_not_open' : 'before_capture'
    }
    const isOver = closeTime !== undefined && time >= closeTime && time > lastReceived
    return isOver ? 'market_closed' : 'no_observation'
  }
}

const NOTHING = {
  best_bid: null,
  best_bid_size: null,
  best_ask: null,
  best_ask_size: null,
  row_id: null,
  received_time: null,
  age_ms: null,
} as const

type Level = { readonly price: number; readonly size: number }

// A pick is a book: its bids best first, then its asks best first; odd keys are asks.
function bestOf(
  { columns }: BookPick,
  isComplement: boolean,
): { readonly bid?: Level; readonly ask?: Level; readonly decimals: number } {
  const { baseKey, baseSize, priceDecimals: decimals } = columns
  const one = 10 ** decimals
  const firstAsk = baseKey.findIndex((key) => (key & 1) === 1)
  const at = (index: number): Level | undefined => {
    const key = baseKey[index]
    if (key === undefined) return undefined
    const ticks = key >> 1
    return { price: isComplement ? one - ticks : ticks, size: baseSize[index]! }
  }
  const bid = firstAsk === 0 ? undefined : at(0)
  const ask = firstAsk < 0 ? undefined : at(firstAsk)
  const [low, high] = isComplement ? [ask, bid] : [bid, ask]
  return { decimals, ...(low && { bid: low }), ...(high && { ask: high }) }
}

/** A row with one column per member and value, for CSV. */
export function toFlatRow(row: ContractSnapshotJson): Readonly<Record<string, unknown>> {
  const { bucket_start, bucket_end, members } = row
  const flat: Record<string, unknown> = { bucket_start, bucket_end }
  const seen = new Map<string, number>()
  for (const { venue, ...values } of members) {
    const number = (seen.get(venue) ?? 0) + 1
    seen.set(venue, number)
    const prefix = number === 1 ? venue : `${venue}_${number}`
    for (const [name, value] of Object.entries(values)) flat[`${prefix}_${name}`] = value
  }
  return flat
}
