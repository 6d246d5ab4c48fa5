import { DAY_MICROS, PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { InstrumentFacts, Progress } from '../store.ts'
import { isDamage } from './bodies.ts'
import { relistMarkets } from './catalog.ts'
import { factsOf, readCoverage, rowsBefore } from './coverage.ts'
import type { Database } from './database.ts'
import { mendBook, tallyGap } from './gap-tally.ts'
import { gapsFrom } from './gaps.ts'
import { checkLabels } from './labels.ts'
import { keptDiffers } from './kept-differs.ts'
import { EVENT_TABLES, MARKET_TABLES } from './listed.ts'
import { checkRow, holds } from './row-sum.ts'
import { readState, STATE, writeState } from './state.ts'
import { listStreamsOfMarket, type Stream } from './streams.ts'
import { addStream, addToDay, facetsOf } from './tally.ts'
import type { View } from './view.ts'

/** What one book stream adds to the sums of one day. */
type DayShare = { readonly observations: number; readonly observed: number }

/**
 * Makes the kept lists and sums from the rows where they are missing or do not fit. On a long tape it is
 * done in steps, and a restart continues after the last one; `progress` is called after each. Rows of a
 * damaged log are not counted: a writer cuts it off first. Lists of markets do not need the log.
 */
export function makeKept(view: View, progress?: Progress): void {
  const { database } = view
  const pass = readState(database, STATE.recounting)
  if (readState(database, STATE.counted) !== 1) {
    if (view.damagedLog === undefined) runPass(view, pass >= ALL ? pass : 0, ALL, progress)
  } else if (readState(database, STATE.searchable) !== 1) {
    runPass(view, pass, LISTS, progress)
  }
}

/** Makes all kept lists and sums from the rows. */
export function recount(view: View, progress?: Progress): void {
  runPass(view, 0, ALL, progress)
}

/** Throws until lists and sums are made: they would be empty or incomplete. */
export function requireKept(database: Database): void {
  if (isListed(database)) return
  throw new PriorbookError(
    'store_unavailable',
    `${database.file}: the lists and sums are not made yet; the recorder makes them from the rows, which takes minutes on a large tape`,
  )
}

/**
 * True when no pass over the rows is begun or due. Sums that wait for the next opening (`counted`) are served
 * until then, because a recorder goes on with them.
 */
export function isListed(database: Database): boolean {
  return readState(database, STATE.searchable) === 1 && readState(database, STATE.recounting) === 0
}

// The passes: lists alone, for tapes of schema 2; or lists, then streams, then gaps.
const LISTS = 1
const ALL = 2

type Step = {
  readonly table: 'market' | 'stream' | 'gap'
  /** Handles some rows after a number; returns the last number handled, undefined after the last row. */
  run(view: View, after: number): number | undefined
  readonly next: number
}

const STEPS: Readonly<Record<number, Step>> = {
  1: { table: 'market', run: ({ database }, after) => relistMarkets(database, after), next: 0 },
  2: { table: 'market', run: ({ database }, after) => relistMarkets(database, after), next: 3 },
  3: { table: 'stream', run: countStreams, next: 4 },
  4: { table: 'gap', run: countGaps, next: 0 },
}

// Up to this many rows, all is done in one transaction.
const AT_ONCE = 2000

function runPass(view: View, begun: number, first: number, progress?: Progress): void {
  const { database } = view
  const begin = (): void => {
    if (begun === 0) beginPass(database, first)
  }
  const tables = first === LISTS ? (['market'] as const) : (['market', 'stream', 'gap'] as const)
  const ends = tables.map((table) => lastId(database, table))
  if (ends.reduce((a, b) => a + b, 0) <= AT_ONCE) {
    database.write(() => {
      begin()
      while (takeStep(view) !== undefined);
    })
    return
  }
  database.write(begin)
  for (;;) {
    const step = database.write(() => takeStep(view))
    if (step === undefined) return
    const { table } = STEPS[step.pass]!
    progress?.(step.last, lastId(database, table), `${table}s listed and counted`)
  }
}

function lastId(database: Database, table: string): number {
  return (database.get(`SELECT max(id) AS id FROM ${table}`)!['id'] as number | null) ?? 0
}

function beginPass(database: Database, first: number): void {
  if (first === ALL) {
    for (const table of ['day', 'day_gap', 'extent', 'unbroken', 'outage', 'listing', 'family']) {
      database.run(`DELETE FROM ${table}`)
    }
    for (const table of 'posting label word_part word event event_posting event_label'.split(' ')) {
      database.run(`DELETE FROM ${table}`)
    }
    writeState(database, STATE.counted, 0)
  }
  writeState(database, STATE.recounting, first)
  writeState(database, STATE.recounted, 0)
}

// One step; undefined after the last.
function takeStep(view: View): { readonly pass: number; readonly last: number } | undefined {
  const { database } = view
  const pass = readState(database, STATE.recounting)
  const step = STEPS[pass]!
  const last = step.run(view, readState(database, STATE.recounted))
  writeState(database, STATE.recounted, last ?? 0)
  if (last !== undefined) return { pass, last }
  writeState(database, STATE.recounting, step.next)
  if (step.next !== 0) return { pass: step.next, last: 0 }
  writeState(database, STATE.counted, 1)
  writeState(database, STATE.searchable, 1)
  return undefined
}

const KEPT = 'family event day day_gap extent unbroken outage parity'.split(' ')

/** Checks the rows of all kept lists and sums; throws `corrupt_row` for a damaged one. */
export function checkKept(database: Database): void {
  for (const table of KEPT) {
    for (const row of database.all(`SELECT * FROM ${table}`)) {
      const columns = Object.keys(row).filter((name) => name !== 'sum')
      // Parity is counted from books as they are appended, and is not made again.
      if (table === 'parity') checkRow(table, columns, row)
      else if (!holds(table, columns, row)) {
        throw keptDiffers(`a row of table ${table} fails its checksum`)
      }
    }
  }
  for (const tables of [MARKET_TABLES, EVENT_TABLES]) checkLabels(database, tables)
  const listed = database.get('SELECT count(*) AS count FROM listing')!['count'] as number
  const markets = database.get('SELECT count(*) AS count FROM market')!['count'] as number
  if (listed !== markets) {
    throw keptDiffers(`${markets} markets, but ${listed} are listed`)
  }
}

/** Changes the sums of the days of a book stream whose rows changed from `before` to what they are now. */
export function recountStream(
  view: View,
  stream: Stream,
  before: ReadonlyMap<number, DayShare>,
): void {
  if (stream.kind !== 'book') return
  const after = sharesOf(view, stream)
  const { asset } = facetsOf(view.database, stream.venue, stream.market)
  for (const day of new Set([...before.keys(), ...after.keys()])) {
    const old = before.get(day) ?? NOTHING
    const now = after.get(day) ?? NOTHING
    const turned = Math.sign(now.observations) - Math.sign(old.observations)
    addToDay(view.database, stream.venue, asset, day, {
      observations: now.observations - old.observations,
      observed: now.observed - old.observed,
      instruments: turned,
      markets: turned !== 0 && !hasSibling(view, stream, day) ? turned : 0,
      last: 0,
    })
  }
}

const NOTHING: DayShare = { observations: 0, observed: 0 }

/** What a stream adds to the sums of each day; nothing for streams that have no books. */
export function sharesOf(view: View, stream: Stream): Map<number, DayShare> {
  const shares = new Map<number, DayShare>()
  if (stream.kind !== 'book') return shares
  for (const { day, observations, observedMicros } of readCoverage(view, stream)?.days ?? []) {
    shares.set(day, { observations, observed: observedMicros })
  }
  return shares
}

/** True when another book of the same market has a row on a day. */
export function hasSibling(view: View, stream: Stream, day: number): boolean {
  return listStreamsOfMarket(view.database, stream, 'book').some(({ id, key }) => {
    if (key === stream.key) return false
    const sibling = view.streamById(id)
    if (view.lastReceived(sibling) < day) return false
    return rowsBefore(view, sibling, day + DAY_MICROS) > rowsBefore(view, sibling, day)
  })
}

/** What is stored of the instruments of one market. */
export function factsOfMarket(
  view: View,
  market: Pick<Stream, 'venue' | 'market'>,
): InstrumentFacts[] {
  return listStreamsOfMarket(view.database, market, 'book').flatMap(
    ({ id }) => factsOf(view, view.streamById(id)) ?? [],
  )
}

// Rows of one step.
const STREAMS = 1000
const GAPS = 2000

// The streams of a market are counted together, when the first of them is met.
function countStreams(view: View, after: number): number | undefined {
  const { database } = view
  const rows = database.all(
    `SELECT id, venue, market FROM stream
     WHERE id > ? AND known_to IS NULL ORDER BY id LIMIT ?`,
    after,
    STREAMS,
  ) as { id: number; venue: VenueId; market: string }[]
  for (const { id, venue, market } of rows) {
    const ids = database.all(
      `SELECT id FROM stream INDEXED BY stream_by_market
       WHERE venue = ? AND market = ? AND known_to IS NULL ORDER BY id`,
      venue,
      market,
    )
    if (ids[0]?.['id'] !== id) continue
    const days = new Set<number>()
    for (const one of ids) {
      try {
        countStream(view, view.streamById(one['id'] as number), days)
      } catch (error) {
        if (!isDamage(error)) throw error
      }
    }
  }
  return rows.at(-1)?.id
}

function countGaps({ database }: View, after: number): number | undefined {
  let last: number | undefined
  for (const { id, gap } of gapsFrom(database, after, GAPS)) {
    last = id
    if (gap !== undefined) tallyGap(database, undefined, gap)
  }
  return last
}

function countStream(view: View, stream: Stream, marketDays: Set<number>): void {
  const { database } = view
  const facets = facetsOf(database, stream.venue, stream.market)
  const first = firstReceived(view, stream)
  if (first === undefined) return
  addStream(database, stream, facets, first)
  if (stream.kind !== 'book') return
  mendBook(database, stream, stream.market)
  const last = view.lastReceived(stream)
  for (const [day, share] of sharesOf(view, stream)) {
    const isSeen = share.observations > 0
    const markets = isSeen && !marketDays.has(day) ? 1 : 0
    if (isSeen) marketDays.add(day)
    const instruments = isSeen ? 1 : 0
    const until = Math.min(last, day + DAY_MICROS - 1)
    addToDay(database, stream.venue, facets.asset, day, {
      ...share,
      markets,
      instruments,
      last: isSeen ? until : 0,
    })
  }
}

/** The received time of the first row of a stream; absent while it has none. */
export function firstReceived(view: View, stream: Stream): number | undefined {
  if (view.lastOrdinal(stream) <= stream.removed) return undefined
  const place = view.directory(stream).places[0]
  return place?.firstReceived ?? view.tailOf(stream)?.columns.received[0]
}
