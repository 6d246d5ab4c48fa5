import { type VenueId } from '@priorbook/sdk/domain'
import { readJournal } from '@priorbook/sdk/journal'
import { parseNote } from '../../packages/service/src/recorder/notes.ts'
import type { CaptureRequest } from '../../packages/service/src/venues/capture/contract.ts'
import { pause, start } from './harness.ts'
import { until } from './recorder-process.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

/** One message as a recorder heard it: a frame of a socket, or an answer with what was asked. */
export type HeardMessage =
  | { readonly slot: number; readonly text: string }
  | { readonly request: CaptureRequest; readonly text: string }

// A busy machine hears less in the same time, and at first nothing of some venue.
const LEAST_ROWS = 30
const PATIENCE_MS = 90_000
// Long listings would drown the rest.
const ANSWER_SHARE = 0.25

/** Records the emulated venues for a while and gives what was heard of each, in order. */
export async function gatherCorpus(ms: number): Promise<ReadonlyMap<VenueId, HeardMessage[]>> {
  const running = await start({ seed: 31, speed: 60, rates: { changes: 4 } })
  try {
    await pause(ms)
    await until('books of every venue', PATIENCE_MS, () => {
      const { venues } = running.recorder.status()
      const rows = EMULATED_VENUES.map((venue) => venues[venue]?.counts.observations ?? 0)
      return rows.every((count) => count >= LEAST_ROWS) ? true : undefined
    })
    await running.stop()
    return new Map(
      EMULATED_VENUES.map((venue) => [venue, thin(readHeard(running.data.journal, venue))]),
    )
  } finally {
    await running.destroy()
  }
}

function readHeard(dir: string, venue: VenueId): HeardMessage[] {
  const heard: HeardMessage[] = []
  let request: CaptureRequest | undefined
  for (const block of readJournal({ dir, venue })) {
    if (block.kind === 'damage') continue
    for (let index = 0; index < block.count; index++) {
      const bytes = block.bytes[index]!
      if (block.kinds[index] === 'note') {
        const note = parseNote(bytes)
        if (note.note === 'request') request = note.request
        continue
      }
      const text = Buffer.from(bytes).toString('utf8')
      const slot = block.slots[index]!
      if (slot > 0) heard.push({ slot, text })
      else if (request !== undefined) heard.push({ request, text })
    }
  }
  return heard
}

// Answers in order, as many of every kind as fit.
function thin(heard: readonly HeardMessage[]): HeardMessage[] {
  const kinds = new Map<string, number>()
  const frames = heard.filter((one) => 'slot' in one).length
  const answers = heard.filter((one) => 'request' in one)
  const kindCount = new Set(answers.map(({ request }) => request.kind)).size
  const most = Math.max(5, (frames * ANSWER_SHARE) / Math.max(1, kindCount))
  return heard.filter((one) => {
    if ('slot' in one) return true
    const count = kinds.get(one.request.kind) ?? 0
    kinds.set(one.request.kind, count + 1)
    return count < most
  })
}
