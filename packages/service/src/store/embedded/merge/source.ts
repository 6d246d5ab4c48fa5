import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import {
  PriorbookError,
  VENUE_IDS,
  type Gap,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { journalStats, type JournalStats } from '@priorbook/sdk/journal'
import { readRecord } from '../../../journal/index.ts'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { RowHead } from '@priorbook/sdk/tape'
import { toDataFolder, type DataFolder } from '../../../lib/data-folder.ts'
import { openEmbeddedStore } from '../open.ts'
import type { Store } from '../../store.ts'
import { isDamage } from '../bodies.ts'
import { corruptGap } from '../corrupt-gap.ts'
import { Database } from '../database.ts'
import type { Maker } from '../log.ts'
import { listStreams, type Stream } from '../streams.ts'
import { sameMaker } from '../tail.ts'
import { createColdSource } from '../cold/cold-source.ts'
import { View } from '../view.ts'
import { toChannel, toEpoch, toSubscription } from '../../../recorder/channel.ts'
import { lastAtMost } from './blind-spans.ts'

/** One recorder's data folder, open for reading. */
export type Source = {
  readonly data: DataFolder
  readonly store: Store
  readonly list: StreamList
  /** Its recorder ids in text order: usually one, more where the name was changed. */
  readonly recorders: readonly string[]
  readonly origin: Origin
  readonly applied: ReadonlyMap<VenueId, Applied & { readonly records: number }>
  close(): Promise<void>
}

/**
 * Opens the data folders of a merge in the order of their recorder ids, whatever the order they are
 * named in; rejects folders that cannot be merged.
 */
export async function openSources(target: string, folders: readonly string[]): Promise<Source[]> {
  if (folders.length < 2) {
    throw new PriorbookError('invalid_argument', 'name the data folders of two or more recorders')
  }
  refuseOverlaps([target, ...folders])
  const sources: Source[] = []
  try {
    for (const folder of folders) sources.push(await openSource(toDataFolder(folder)))
    refuseMixed(sources)
  } catch (error) {
    await closeSources(sources)
    throw error
  }
  return sources.sort((a, b) => (a.recorders[0]! < b.recorders[0]! ? -1 : 1))
}

/** Closes the data folders. */
export async function closeSources(sources: readonly Source[]): Promise<void> {
  for (const source of sources) await source.close()
}

async function openSource(data: DataFolder): Promise<Source> {
  const store = openEmbeddedStore({ file: data.tape, readOnly: true })
  let list: StreamList | undefined
  try {
    list = openStreamList(data.tape)
    const applied: [VenueId, Applied & { records: number }][] = []
    const makers: NamedMaker[] = list.streams.map(({ maker }) => maker)
    for (const venue of VENUE_IDS) {
      // First what is applied: whatever a running recorder adds from now on is left to the next merge.
      const bound = await store.appliedPosition(venue)
      const stats = journalStats(data.journal, venue)
      makers.push(...readMakers(data, venue, stats))
      if (bound > 0) applied.push([venue, { bound, first: stats.first, records: stats.records }])
    }
    const [maker] = makers
    if (maker === undefined || applied.length === 0) {
      throw new PriorbookError('store_unavailable', `nothing was recorded in ${data.path}`)
    }
    const recorders = [...new Set(makers.map(({ recorder }) => recorder))].sort()
    const close = async (): Promise<void> => {
      list!.close()
      await store.close()
    }
    const { origin } = maker
    return { data, store, list, recorders, origin, applied: new Map(applied), close }
  } catch (error) {
    list?.close()
    await store.close()
    throw error
  }
}

type NamedMaker = { readonly origin: Origin; readonly recorder: string }

// A journal file belongs to one recorder; its first readable record names it.
function readMakers(data: DataFolder, venue: VenueId, { segments }: JournalStats): NamedMaker[] {
  return segments.flatMap(({ first }) => {
    try {
      return readRecord({ dir: data.journal, venue }, first) ?? []
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      return []
    }
  })
}

function refuseMixed(sources: readonly Source[]): void {
  const owners = new Map<string, string>()
  for (const { data, recorders, origin } of sources) {
    const [first] = sources
    if ((origin === 'emulator') !== (first!.origin === 'emulator')) {
      throw new PriorbookError(
        'origin_mismatch',
        `${first!.data.path} holds ${first!.origin} data and ${data.path} ${origin} data`,
      )
    }
    for (const recorder of recorders) {
      const owner = owners.get(recorder)
      if (owner !== undefined) {
        throw new PriorbookError(
          'invalid_argument',
          `${owner} and ${data.path} are both of recorder ${recorder}: merge recorders of different names`,
        )
      }
      owners.set(recorder, data.path)
    }
  }
}

// The target is replaced as a whole, so it must not be, contain or lie in a source folder.
function refuseOverlaps(paths: readonly string[]): void {
  const real = paths.map(toRealPath)
  for (const [index, path] of real.entries()) {
    for (const [other, inner] of real.entries()) {
      const way = relative(path, inner)
      if (index === other || isAbsolute(way) || /^\.\.([/\\]|$)/.test(way)) continue
      throw new PriorbookError(
        'invalid_argument',
        `${paths[other]} lies in ${paths[index]}: every recorder and the merge need a folder of their own`,
      )
    }
  }
}

// A path that does not exist yet is resolved through its existing parent.
function toRealPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(resolve(path))
    return parent === resolve(path) ? parent : join(toRealPath(parent), basename(path))
  }
}

/** The makers of a stream's rows, and the gaps of rows that are damaged on disk. */
export type StreamMakers = {
  /** The maker of a row. */
  readonly at: (ordinal: number) => Maker
  readonly damaged: readonly Gap[]
}

/** Every stream of a tape, including instruments without a book, and its makers. */
interface StreamList {
  readonly streams: readonly Stream[]
  makersOf(stream: Stream): StreamMakers
  close(): void
}

/** Opens the streams of a tape for reading, next to the store; rejects a log that needs repair. */
function openStreamList(file: string): StreamList {
  const database = new Database(file, true)
  try {
    const cold = createColdSource(file)
    const view = new View(database, createNodePlatform(), { cold, mayWait: true })
    const streams = database.read(() => {
      view.refresh()
      if (view.damagedLog !== undefined) throw view.damagedLog.error
      return listStreams(database)
    })
    return {
      streams,
      makersOf: ({ id }) =>
        database.read(() => {
          view.refresh()
          return readStreamMakers(view, view.streamById(id))
        }),
      close: () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function readStreamMakers(view: View, stream: Stream): StreamMakers {
  const runs: { readonly first: number; readonly maker: Maker }[] = []
  const damaged: Gap[] = []
  const add = (first: number, maker: Maker): void => {
    const last = runs.at(-1)?.maker
    if (last !== undefined && sameMaker(last, maker)) return
    const { origin, recorder, normalizer } = maker
    runs.push({ first, maker: { origin, recorder, normalizer } })
  }
  const { places } = view.directory(stream)
  for (const [index, place] of places.entries()) {
    const next = places[index + 1]?.firstReceived
    try {
      if ('lost' in place) damaged.push(until(next, corruptGap(stream, place)))
      else add(place.first, view.bodies.open(stream, place).header)
    } catch (error) {
      if (!isDamage(error)) throw error
      damaged.push(until(next, corruptGap(stream, place)))
    }
  }
  const tail = view.tailOf(stream)
  for (const { row, maker } of tail?.makers ?? []) add(tail!.first + row, maker)
  return {
    at: (ordinal) => runs[lastAtMost(runs, ({ first }) => first, ordinal)]?.maker ?? stream.maker,
    damaged,
  }
}

// Extends a gap of damage to the next readable row.
function until(next: number | undefined, gap: Gap): Gap {
  const { end: _end, ...open } = gap
  return next === undefined ? open : { ...open, end: next as Micros }
}

// A store accepts a row when its journal number is above the applied position, and every batch raises
// that position. A merge goes instrument by instrument: its own steps count from 1, and the records of
// the merged journals are numbered above all steps.
const STEPS = 500_000_000
const FIRST = 1_000_000_000
// A channel holds the number of the record that noted its connection, times 65,536, below 2^52.
const MOST = 2 ** 36

/** The last journal record of a venue that one recorder applied, and the first that it still has. */
export type Applied = { readonly bound: number; readonly first: number | undefined }

/** Maps one recorder's journal numbers of a venue to those of the merged journal. */
export type Numbers = {
  /** Records after it were not in the tape when the merge began, and are left to the next merge. */
  readonly bound: number
  at(journal: number): number
  headOf(head: RowHead): RowHead
  /** Absent when the gap was not known yet at the bound; open again when its end was not. */
  gapOf(gap: Gap): Gap | undefined
}

/**
 * Numbers the journals of several recorders one after the other. Records that retention removed are
 * numbered before all others, so that the merged journal has no hole.
 */
export function planNumbers(applied: readonly Applied[]): { all: Numbers[]; last: number } {
  let next = FIRST
  const removed = applied.map(({ bound, first = bound + 1 }) => {
    const count = Math.min(first - 1, bound)
    const before = next
    next += count
    return { count, before }
  })
  const all = applied.map(({ bound }, index) => {
    const { count, before } = removed[index]!
    const kept = next - count
    next += bound - count
    return toNumbers(bound, (journal) => {
      // Gaps of retention or damage do not come from a record.
      if (journal === 0) return FIRST
      return (journal <= count ? before : kept) + journal
    })
  })
  if (next >= MOST) {
    throw new PriorbookError('unrepresentable', 'the journals together have too many records')
  }
  return { all, last: next }
}

/** The number of a revision of a market that several recorders know: their journals have no common order. */
export function toRevisionNumber(ordinal: number): number {
  return STEPS + ordinal
}

function toNumbers(bound: number, at: (journal: number) => number): Numbers {
  return {
    bound,
    at,
    headOf(head) {
      const { channel, journal } = head
      const epoch = toEpoch(channel)
      if (epoch === 0) return { ...head, journal: at(journal) }
      return {
        ...head,
        journal: at(journal),
        channel: toChannel(at(epoch), toSubscription(channel)),
      }
    },
    gapOf(gap) {
      if (gap.journal > bound) return undefined
      const { end, sourceEnd, endJournal, ...open } = gap
      const from = { ...open, journal: at(gap.journal) }
      if (end === undefined || (endJournal ?? 0) > bound) return from
      return {
        ...from,
        end,
        ...(sourceEnd === undefined ? {} : { sourceEnd }),
        ...(endJournal === undefined ? {} : { endJournal: at(endJournal) }),
      }
    },
  }
}
