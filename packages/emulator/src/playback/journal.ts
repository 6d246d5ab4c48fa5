import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { readJournal } from '@priorbook/sdk/journal'
import type { PlaybackProblem, Played } from './source.ts'

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
