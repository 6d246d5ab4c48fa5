import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  PriorbookError,
  VIOLATIONS,
  toMicros,
  type ErrorCode,
  type VenueId,
  type Violation,
} from '@priorbook/sdk/domain'
import { createRandom } from '../../packages/emulator/src/world/random.ts'
import { Applier, type ApplyRecord } from '../../packages/service/src/recorder/applier.ts'
import { toNoteBytes, type Note } from '../../packages/service/src/recorder/notes.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { definitionOf } from '../../packages/service/src/venues/registry.ts'
import type { HeardMessage } from './message-corpus.ts'
import { mutateMessage } from './mutate-message.ts'

/** What became of mutated messages. */
export type FeedReport = {
  readonly mutated: number
  readonly taken: number
  /** Messages with a part, or the whole, in quarantine. */
  readonly quarantined: number
  readonly codes: ReadonlySet<ErrorCode | Violation>
  /** Where quarantine is not what the messages deserve; nothing, if all is well. */
  readonly disagreements: readonly string[]
  /** Bytes of memory in use after a quarter and in the end. */
  readonly memory: { readonly quarter: number; readonly end: number }
}

// Most are spoiled; the rest keeps books open, so that there is something to poison.
const SPOILED = 0.7
const BATCH = 400
// A refused frame closes books, and nobody here asks for full ones: they come again now and then.
const REFRESH = 50
const REFRESHED_BOOKS = 12
const START_MICROS = 1_790_000_000_000_000
// Frames of one market are closer together; a new round of the corpus begins after a pause.
const STEP_MICROS = 300
const ROUND_MICROS = 60_000_000

/** Feeds a recorder's applier with so many mutated messages of a venue, and its store in batches. */
export async function feedMutated(
  store: Store,
  venue: VenueId,
  corpus: readonly HeardMessage[],
  count: number,
): Promise<FeedReport> {
  const random = createRandom(`mutated ${venue}`)
  const applier = new Applier(store, venue)
  const slots = new Set(corpus.flatMap((one) => ('slot' in one ? one.slot : [])))
  const codes = new Set<ErrorCode | Violation>()
  const disagreements: string[] = []
  const expected = new Map<number, Set<ErrorCode>>()
  let number = 0
  let received = START_MICROS
  let lastId = 0
  let mutated = 0
  let quarantined = 0
  let quarter = 0

  const take = async (record: Omit<ApplyRecord, 'number' | 'received'>): Promise<void> => {
    number++
    received += STEP_MICROS
    await applier.apply({ ...record, number, received: toMicros(received) })
  }
  const note = (said: Note): Promise<void> =>
    take({ kind: 'note', slot: 0, bytes: toNoteBytes(said) })

  /** Stores what was derived and compares quarantine with what the normalizer alone refuses. */
  const flush = async (): Promise<void> => {
    const batch = applier.drain({ origin: 'emulator', recorder: 'r1' })
    if (batch !== undefined) await store.append(batch)
    applier.forgetEnded()
    const found = new Map<number, Set<ErrorCode | Violation>>()
    for (const { id, journal, code } of await store.quarantine({
      venue,
      after: lastId,
      limit: 1e6,
    })) {
      lastId = id
      codes.add(code)
      found.set(journal, (found.get(journal) ?? new Set()).add(code))
    }
    quarantined += found.size
    for (const [journal, wanted] of expected) {
      const missing = [...wanted].filter((code) => found.get(journal)?.has(code) !== true)
      if (missing.length > 0) disagreements.push(`${journal}: ${missing.join()} not in quarantine`)
    }
    for (const [journal, kept] of found) {
      // Checks of rows come after the normalizer; nothing else may be refused that it takes.
      const own = [...kept].filter((code) => !(code in VIOLATIONS) && code !== 'unrepresentable')
      const extra = own.filter((code) => expected.get(journal)?.has(code as ErrorCode) !== true)
      if (extra.length > 0) disagreements.push(`${journal}: ${extra.join()} for no reason`)
    }
    expected.clear()
  }

  /** New connections that begin with the newest full books, unspoiled. */
  const refresh = async (): Promise<void> => {
    for (const slot of slots) await note({ note: 'connected', slot, url: 'ws://emulated' })
    for (const { slot, text } of [...full.values()].slice(-REFRESHED_BOOKS)) {
      await take({ kind: 'message', slot, bytes: Buffer.from(text) })
    }
  }
  const full = new Map<string, HeardMessage & { readonly slot: number }>()

  await note({ note: 'started', version: '1' })
  for (let at = 0; mutated < count; at++) {
    const one = corpus[at % corpus.length]!
    if (at % corpus.length === 0) {
      received += ROUND_MICROS
      full.clear()
    }
    if (at % REFRESH === 0) await refresh()
    const key = 'slot' in one ? fullBookOf(venue, one.text) : undefined
    if (key !== undefined && 'slot' in one) {
      full.delete(key)
      full.set(key, one)
    }
    const isSpoiled = random.chance(SPOILED)
    const bytes = isSpoiled ? mutateMessage(one.text, random) : Buffer.from(one.text)
    if (isSpoiled) mutated++
    if ('request' in one) await note({ note: 'request', request: one.request })
    const refusals = judge(venue, one, bytes)
    if (refusals.size > 0) expected.set(number + 1, refusals)
    await take({ kind: 'message', slot: 'slot' in one ? one.slot : 0, bytes })
    if (at % BATCH === BATCH - 1) await flush()
    if (quarter === 0 && mutated > count / 4) quarter = memoryInUse()
  }
  await flush()
  const memory = { quarter, end: memoryInUse() }
  return { mutated, taken: number, quarantined, codes, disagreements, memory }
}

/** What the venue's normalizer, asked alone, refuses of a message; throws what it must never throw. */
function judge(venue: VenueId, one: HeardMessage, bytes: Uint8Array): Set<ErrorCode> {
  const at = { received: toMicros(START_MICROS), journal: 1 }
  const normalizer = definitionOf(venue).normalizer
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return new Set(['invalid_line'])
  }
  // Messages of 1 KB and more may nest 64 levels.
  if (bytes.length >= 1024 && depthOf(value) > 64) return new Set(['invalid_line'])
  try {
    const { problems } =
      'request' in one ? normalizer.answer(one.request, value, at) : normalizer.frame(value, at)
    return new Set(problems.map(({ error }) => error.code))
  } catch (error) {
    if (error instanceof PriorbookError) return new Set([error.code])
    throw error
  }
}

/** How many lists and objects of a value are inside each other. */
function depthOf(value: unknown): number {
  let depth = 0
  const isHolder = (one: unknown): one is object => typeof one === 'object' && one !== null
  for (let level = [value].filter(isHolder); level.length > 0; depth++) {
    level = level.flatMap((holder) => Object.values(holder).filter(isHolder))
  }
  return depth
}

/** The instrument that a frame gives a full book of. */
function fullBookOf(venue: VenueId, text: string): string | undefined {
  try {
    const at = { received: toMicros(START_MICROS), journal: 1 }
    const { events } = definitionOf(venue).normalizer.frame(JSON.parse(text), at)
    const book = events.find(({ kind }) => kind === 'snapshot')
    return book?.kind === 'snapshot' ? book.instrument.key : undefined
  } catch {
    // A word of the venue, such as PONG.
    return undefined
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function memoryInUse(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
