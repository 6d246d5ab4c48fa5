import type { Gap, Micros } from '@priorbook/sdk/domain'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { isDamage } from '../store/embedded/bodies.ts'
import { corruptGap } from '../store/embedded/corrupt-gap.ts'
import { Database } from '../store/embedded/database.ts'
import type { Maker } from '../store/embedded/log.ts'
import { listStreams, type Stream } from '../store/embedded/streams.ts'
import { sameMaker } from '../store/embedded/tail.ts'
import { View } from '../store/embedded/view.ts'
import { lastAtMost } from './merge-recorders-spans.ts'

/** Who made the rows of a stream, and which of them are damaged on disk. */
export type StreamMakers = {
  /** The maker of a row. */
  readonly at: (ordinal: number) => Maker
  readonly damaged: readonly Gap[]
}

/** What only the engine knows of a tape: every stream, also of instruments without a book, and its makers. */
export interface StreamList {
  readonly streams: readonly Stream[]
  makersOf(stream: Stream): StreamMakers
  close(): void
}

/** Opens the streams of a tape for reading, beside the store; a log that must be mended first is refused. */
export function openStreamList(file: string): StreamList {
  const database = new Database(file, true)
  try {
    const view = new View(database, createNodePlatform())
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
          return readMakers(view, view.streamById(id))
        }),
      close: () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function readMakers(view: View, stream: Stream): StreamMakers {
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

// Nothing is known until the next row that can be read.
function until(next: number | undefined, gap: Gap): Gap {
  const { end: _end, ...open } = gap
  return next === undefined ? open : { ...open, end: next as Micros }
}
