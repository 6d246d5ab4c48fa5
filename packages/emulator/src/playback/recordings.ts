import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { readJournal } from '@priorbook/sdk/journal'

/** One recorded frame, or the beginning of a new connection of a slot. */
export type Played =
  | { readonly kind: 'frame'; readonly at: number; readonly slot: number; readonly text: string }
  | { readonly kind: 'connected'; readonly at: number; readonly slot: number }

/** A part of a recording that cannot be played. */
export type PlaybackProblem = { readonly where: string; readonly error: PriorbookError }

/** Recorded frames in order of reception; `at` in microseconds. */
export type Source = AsyncIterable<Played> | Iterable<Played>

type Line = {
  readonly at: number
  readonly sid: number
  readonly seq: number
  readonly text: string
}

/**
 * Frames of venue B recordings, lines `{"recv_ms": …, "event": {…}}` plain or gzipped, merged by
 * received time. A `seq` that falls far back marks a new connection, as in the recording.
 */
export async function* readLines(
  files: readonly string[],
  onProblem: (problem: PlaybackProblem) => void,
): AsyncGenerator<Played, void, void> {
  const readers = files.map((file) => readFile(file, onProblem))
  const heads = await Promise.all(readers.map((reader) => reader.next()))
  const last = new Map<number, number>()
  try {
    for (;;) {
      const index = earliest(heads)
      if (index < 0) return
      const line = heads[index]!.value as Line
      const { at, sid, seq, text } = line
      const before = last.get(sid) ?? 0
      if (seq < before / 2) {
        last.clear()
        yield { kind: 'connected', at, slot: 1 }
      }
      last.set(sid, seq)
      yield { kind: 'frame', at, slot: 1, text }
      heads[index] = await readers[index]!.next()
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.return()))
  }
}

/** Half of all lines share their millisecond; the number of the message decides between files. */
function earliest(heads: readonly IteratorResult<Line, void>[]): number {
  let best = -1
  heads.forEach(({ done, value }, index) => {
    if (done) return
    const other = best < 0 ? undefined : (heads[best]!.value as Line)
    const sooner =
      other === undefined ||
      value.at < other.at ||
      (value.at === other.at && value.sid === other.sid && value.seq < other.seq)
    if (sooner) best = index
  })
  return best
}

async function* readFile(
  file: string,
  onProblem: (problem: PlaybackProblem) => void,
): AsyncGenerator<Line, void, void> {
  const bytes = createReadStream(file)
  const input = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes
  let number = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      number++
      if (text === '') continue
      const line = parseLine(text)
      if (line !== undefined) yield line
      else {
        const error = new PriorbookError(
          'invalid_line',
          `${file}:${number} is not a recorded message`,
        )
        onProblem({ where: `${file}:${number}`, error })
      }
    }
  } catch (cause) {
    const error = new PriorbookError('truncated_file', `${file} cannot be read on`, { cause })
    onProblem({ where: `${file}:${number}`, error })
  } finally {
    bytes.destroy()
  }
}

// The event is sent with its recorded bytes: they are cut out of the line, not serialized again.
const LINE = /^\{"recv_ms":\s*(\d{13}),\s*"event":\s*(\{.*\})\}\s*$/

function parseLine(text: string): Line | undefined {
  const match = LINE.exec(text)
  if (match === null) return undefined
  let event: { sid?: unknown; seq?: unknown }
  try {
    event = JSON.parse(match[2]!) as typeof event
  } catch {
    return undefined
  }
  const { sid, seq } = event
  return {
    at: Number(match[1]) * 1000,
    sid: typeof sid === 'number' ? sid : 0,
    seq: typeof seq === 'number' ? seq : 0,
    text: match[2]!,
  }
}

/** Frames of a journal by socket slot; REST answers and imported lines are not played. */
export function* readFrames(
  dir: string,
  venue: VenueId,
  onProblem: (problem: PlaybackProblem) => void,
): Generator<Played, void, void> {
  const decoder = new TextDecoder()
  for (const item of readJournal({ dir, venue })) {
    if (item.kind === 'damage') {
      const error = new PriorbookError('corrupt_journal', `${item.file}: ${item.reason}`)
      onProblem({ where: `${item.file}:${item.offset}`, error })
      continue
    }
    for (let i = 0; i < item.count; i++) {
      const at = item.received[i]!
      const slot = item.slots[i]!
      if (item.kinds[i] === 'note') {
        const connected = connectedSlot(decoder.decode(item.bytes[i]))
        if (connected !== undefined) yield { kind: 'connected', at, slot: connected }
      } else if (slot > 0) {
        yield { kind: 'frame', at, slot, text: decoder.decode(item.bytes[i]) }
      }
    }
  }
}

function connectedSlot(text: string): number | undefined {
  try {
    const note = JSON.parse(text) as { note?: unknown; slot?: unknown }
    return note.note === 'connected' && typeof note.slot === 'number' ? note.slot : undefined
  } catch {
    return undefined
  }
}
