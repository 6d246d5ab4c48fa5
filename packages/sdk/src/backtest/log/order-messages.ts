import type { LiveMessage } from '../../client/index.ts'
import { printMicros, type Micros } from '../../domain/index.ts'
import { timeOf } from '../../wire/index.ts'

type Held = {
  readonly at: number
  readonly rank: number
  readonly name: string
  readonly sequence: number
  readonly message: LiveMessage
}

/**
 * Puts the messages of a live stream into the order of a replay. Rows of several instruments are published
 * some milliseconds out of order, so each is held back until the stream is `hold` microseconds past it.
 */
export async function* orderMessages(
  messages: AsyncIterable<LiveMessage>,
  hold: number,
): AsyncGenerator<LiveMessage> {
  let held: Held[] = []
  let newest = -Infinity
  const release = function* (until: number): Generator<LiveMessage> {
    held.sort(compareHeld)
    const due = held.filter(({ at }) => at <= until)
    held = held.filter(({ at }) => at > until)
    for (const { message } of due) yield message
  }
  for await (const message of messages) {
    if (message.type === 'heartbeat') {
      const at = timeOf(message.server_time)
      if (at === undefined) continue
      newest = Math.max(newest, at)
      yield* release(newest - hold)
      yield { ...message, server_time: printMicros((newest - hold) as Micros) }
      continue
    }
    const place = placeOf(message)
    if (place === undefined) {
      // What is lost is lost at its own place among the rows.
      yield* release(Infinity)
      yield message
      continue
    }
    held.push({ ...place, message })
    newest = Math.max(newest, place.at)
    yield* release(newest - hold)
  }
  // The rest may lack rows of other instruments, so it is left out.
  yield* release(newest - hold)
}

/** The time of a message in a replay, in microseconds; undefined for messages that a replay does not have. */
export function messageTime(message: LiveMessage): number | undefined {
  return placeOf(message)?.at
}

function compareHeld(left: Held, right: Held): number {
  if (left.at !== right.at) return left.at - right.at
  if (left.rank !== right.rank) return left.rank - right.rank
  if (left.name !== right.name) return left.name < right.name ? -1 : 1
  return left.sequence - right.sequence
}

// The ranks are those of events of one time in a replay.
function placeOf(message: LiveMessage): Omit<Held, 'message'> | undefined {
  switch (message.type) {
    case 'snapshot':
    case 'update':
    case 'trade': {
      const { row, key } = message
      const at = timeOf(row.received_time)
      if (at === undefined) return undefined
      const rank = message.type === 'trade' ? 3 : 2
      return { at, rank, name: `${row.venue}:${key}`, sequence: row.sequence }
    }
    case 'market': {
      const { row } = message
      const at = timeOf(row.revision_time)
      if (at === undefined) return undefined
      return { at, rank: 0, name: `${row.venue}:${row.market_id}`, sequence: 0 }
    }
    case 'gap': {
      const { gap } = message
      const end = timeOf(gap.end_time)
      const at = end ?? timeOf(gap.start_time)
      if (at === undefined) return undefined
      return { at, rank: end === undefined ? 6 : 1, name: `${gap.venue}:${gap.key}`, sequence: 0 }
    }
    default:
      return undefined
  }
}
