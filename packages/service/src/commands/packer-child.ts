import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { packJournal, type PackReport } from '../journal/index.ts'
import { packBoundary, packTape, type TapePackReport } from '../retention/tape-packer.ts'
import type { MadePack } from '../store/embedded/open.ts'

/** What the process of a packer works on. */
export type PackerOrder = {
  /** The folder of the journals; absent where their files are not packed. */
  readonly journalDir?: string | undefined
  /** The tape, and how old its chunks are when they are packed; absent where they are not. */
  readonly tape?:
    | {
        readonly file: string
        readonly ageMicros: number
        /** How long a process waits before its first pass, in milliseconds; half a minute by default. */
        readonly waitMs?: number
      }
    | undefined
}

/** What the process tells its parent: what it packed, or why it could not; `pack` asks it to store a pack. */
export type PackerMessage =
  | ({ readonly type: 'packed'; readonly venue: string } & Omit<PackReport, 'damaged'>)
  | ({ readonly type: 'packed_tape' } & TapePackReport)
  | { readonly type: 'pack'; readonly made: MadePack }
  | { readonly type: 'damaged'; readonly file: string }
  | { readonly type: 'trouble'; readonly error: string }

// Half of the time of a core that nobody else wants.
const SHARE = 0.5
const PAUSE_MS = 30_000
// Days become old enough once a day; a pass without work reads one index.
const TAPE_PAUSE_MS = 3_600_000

const { journalDir, tape } = JSON.parse(process.argv[2]!) as PackerOrder
const stop = new AbortController()
const { signal } = stop
process.once('disconnect', () => stop.abort())
process.once('SIGTERM', () => stop.abort())
// The parent answers Ctrl-C, and then disconnects.
process.on('SIGINT', () => undefined)
setPriority(constants.priority.PRIORITY_LOW)

const tell = (message: PackerMessage): void => void process.send?.(message)
const damaged = new Set<string>()

async function packJournals(dir: string): Promise<void> {
  for (const venue of VENUE_IDS) {
    const order = { dir, venue, share: SHARE, signal, without: damaged }
    const { damaged: found, ...packed } = await packJournal(order)
    if (packed.files > 0) tell({ type: 'packed', venue, ...packed })
    for (const file of found) {
      damaged.add(file)
      tell({ type: 'damaged', file })
    }
  }
}

async function packChunks({ file, ageMicros }: NonNullable<PackerOrder['tape']>): Promise<void> {
  if (!existsSync(file)) return
  // Most processes end before they need it.
  const { openEmbeddedStore } = await import('../store/embedded/open.ts')
  const reader = openEmbeddedStore({ file, readOnly: true })
  try {
    const before = packBoundary(Date.now() * 1000, ageMicros)
    const packed = await packTape(reader, askParent, { before, share: SHARE, signal })
    if (packed.packs > 0) tell({ type: 'packed_tape', ...packed })
  } finally {
    await reader.close()
  }
}

// Only the parent writes the tape.
async function askParent(made: MadePack): Promise<boolean> {
  const answered = once(process, 'message', { signal })
  tell({ type: 'pack', made })
  const [answer] = (await answered) as [{ readonly isReplaced: boolean }]
  return answer.isReplaced
}

const troubles = new Map<string, string>()
async function attempt(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
    troubles.delete(what)
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    if (!signal.aborted && text !== troubles.get(what)) tell({ type: 'trouble', error: text })
    troubles.set(what, text)
  }
}

let nextTapeMs = performance.now() + (tape?.waitMs ?? PAUSE_MS)
while (!signal.aborted) {
  if (journalDir !== undefined) await attempt('journal', () => packJournals(journalDir))
  if (tape !== undefined && performance.now() >= nextTapeMs) {
    await attempt('tape', () => packChunks(tape))
    nextTapeMs = performance.now() + TAPE_PAUSE_MS
  }
  await pause(PAUSE_MS, undefined, { signal }).catch(() => undefined)
}
if (process.connected) process.disconnect()
