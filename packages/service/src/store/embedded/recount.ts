import { PriorbookError } from '@priorbook/sdk/domain'
import type { InstrumentFacts } from '../store.ts'
import { isDamage } from './bodies.ts'
import { relistMarkets } from './catalog.ts'
import { factsOf, readCoverage, rowsBefore } from './coverage.ts'
import type { Database } from './database.ts'
import { mendBook, tallyGap } from './gap-tally.ts'
import { eachGap } from './gaps.ts'
import { checkRow } from './row-sum.ts'
import { STATE, writeState } from './state.ts'
import { listStreamsOfMarket, type Stream } from './streams.ts'
import { addStream, addToDay, DAY, facetsOf } from './tally.ts'
import type { View } from './view.ts'

/** What one book stream adds to the sums of one day. */
type DayShare = { readonly observations: number; readonly observed: number }

/** Makes all kept lists and sums from the rows, in one transaction. */
export function recount(view: View): void {
  const { database } = view
  database.write(() => {
    for (const table of ['day', 'day_gap', 'extent', 'unbroken', 'outage']) {
      database.run(`DELETE FROM ${table}`)
    }
    relistMarkets(database)
    countStreams(view)
    for (const gap of eachGap(database)) tallyGap(database, undefined, gap)
    writeState(database, STATE.counted, 1)
  })
}

const KEPT = ['family', 'day', 'day_gap', 'extent', 'unbroken', 'outage', 'parity'] as const

/** Checks the rows of all kept lists and sums; throws `corrupt_row` for a damaged one. */
export function checkKept(database: Database): void {
  for (const table of KEPT) {
    for (const row of database.all(`SELECT * FROM ${table}`)) {
      const columns = Object.keys(row).filter((name) => name !== 'sum')
      checkRow(table, columns, row)
    }
  }
  const listed = database.get('SELECT count(*) AS count FROM listing')!['count'] as number
  const markets = database.get('SELECT count(*) AS count FROM market')!['count'] as number
  if (listed !== markets) {
    throw new PriorbookError('corrupt_row', `${markets} markets, but ${listed} are listed`)
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
    return rowsBefore(view, sibling, day + DAY) > rowsBefore(view, sibling, day)
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

function countStreams(view: View): void {
  const { database } = view
  const rows = database.all(
    'SELECT id FROM stream WHERE known_to IS NULL ORDER BY venue, market, id',
  )
  let market = ''
  let days = new Set<number>()
  for (const row of rows) {
    try {
      const stream = view.streamById(row['id'] as number)
      const name = `${stream.venue} ${stream.market}`
      if (name !== market) days = new Set()
      market = name
      countStream(view, stream, days)
    } catch (error) {
      if (!isDamage(error)) throw error
    }
  }
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
    const until = Math.min(last, day + DAY - 1)
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
