import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  PriorbookError,
  toMicros,
  VENUES,
  type Instrument,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { onTestFinished } from 'vitest'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { untilAborted } from '../lib/wait.ts'
import { SYSTEM_CLOCK } from '../lib/clock.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { Store } from '../store/store.ts'
import type {
  CaptureNote,
  CaptureRequest,
  CaptureSink,
  Reading,
} from '../venues/capture/contract.ts'
import type { Applier } from './applier.ts'
import { foldRuns } from './folded-rows.testing.ts'
import { compareWithJournal } from '../derive/rebuild.ts'
import { openRecorder } from './recorder.ts'

/** Puts messages into a recorder, at times of the test's own clock. */
export type Script = {
  /** Moves the clock by milliseconds; a step back is allowed. */
  wait(ms: number): void
  frame(slot: number, value: unknown): void
  text(slot: number, text: string): void
  /** The number of the newest journal record. */
  position(): number
  /** `asked` is the position when the request was sent. */
  answer(request: CaptureRequest, value: unknown, asked?: number): void
  /** What the connector was told of the newest frame or answer. */
  told(): Reading
  note(note: CaptureNote): void
  /** Waits until everything put in is stored. */
  stored(): Promise<void>
  /** Leaves the store no space; returns once the recorder keeps nothing any more, and with `false` keeps again. */
  fill(isFull: boolean): Promise<void>
}

/** Instruments whose full books the recorder requested, and the reason. */
export type Recovery = { readonly keys: readonly string[]; readonly reason: string }

/** The first received time of a test, in milliseconds. */
export const START_MS = 1_790_000_000_000

/** A data folder that is gone when the test ends. */
export function createDataFolder(): DataFolder {
  const path = mkdtempSync(join(tmpdir(), 'priorbook-recorder-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return toDataFolder(join(path, 'data'))
}

/** Gives an applier journal records by hand, numbered and a millisecond apart. */
export function createFeed(
  applier: () => Applier,
): (kind: 'note' | 'message', value: object, slot?: number) => Promise<void> {
  let number = 0
  let received = START_MS * 1000
  return async (kind, value, slot = 0) => {
    const bytes = Buffer.from(JSON.stringify(value))
    received += 1000
    await applier().apply({ number: ++number, received: toMicros(received), kind, slot, bytes })
  }
}

let clock = START_MS * 1000

/** Runs a recorder of one venue over a script, from its start to its end in order. */
export async function record(
  data: DataFolder,
  venue: VenueId,
  play: (script: Script) => Promise<void> | void,
  options: {
    readonly fresh?: boolean
    readonly recorder?: string
    readonly origin?: Origin
    /** Called with the name and the parameters of everything that the store is asked. */
    readonly onAsked?: (name: string, asked: readonly unknown[]) => void
  } = {},
): Promise<readonly Recovery[]> {
  if (options.fresh !== false) clock = START_MS * 1000
  const opened = openEmbeddedStore({ file: data.tape })
  let isFull = false
  const store = observed(opened, (name, asked) => {
    if (isFull && name === 'append') throw new PriorbookError('disk_full', 'a test filled the disk')
    options.onAsked?.(name, asked)
  })
  const recoveries: Recovery[] = []
  const stop = new AbortController()
  let sink: CaptureSink | undefined
  const recorder = await openRecorder({
    store,
    journalDir: data.journal,
    origin: options.origin ?? 'emulator',
    recorder: options.recorder ?? 'r1',
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    clock: { ...SYSTEM_CLOCK, now: () => toMicros(clock) },
    connectors: {
      [venue]: (context: { sink: CaptureSink }) => {
        sink = context.sink
        return {
          venue,
          run: untilAborted,
          resume: () => undefined,
          recover(instruments: readonly Instrument[], reason: string) {
            recoveries.push({ keys: instruments.map(({ key }) => key), reason })
          },
          status: () =>
            ({ venue, state: 'recording', detail: '', markets: 0, sockets: [] }) as const,
        }
      },
    },
  })
  const running = recorder.run(stop.signal)
  let told: Reading = { events: [], problems: [] }
  const script: Script = {
    wait: (ms) => {
      clock += ms * 1000
    },
    frame: (slot, value) => {
      told = sink!.frame(slot, toMicros(clock), Buffer.from(JSON.stringify(value)), value)
    },
    text: (slot, text) => sink!.frame(slot, toMicros(clock), Buffer.from(text), undefined),
    position: () => sink!.position(),
    answer: (request, value, asked) => {
      const bytes = Buffer.from(JSON.stringify(value))
      told = sink!.answer(request, toMicros(clock), bytes, value, asked)
    },
    told: () => told,
    note: (note) => sink!.note(note),
    stored: () => new Promise((resolve) => setTimeout(resolve, 60)),
    async fill(now) {
      isFull = now
      // Something has to be written for the recorder to find out.
      if (now) sink!.note({ note: 'failed', request: { kind: 'none' }, why: 'none' })
      while (recorder.status().diskFull !== now) await script.stored()
    },
  }
  await play(script)
  stop.abort()
  await running
  await store.close()
  return recoveries
}

function observed<T extends object>(
  store: T,
  onAsked: (name: string, asked: readonly unknown[]) => void,
): T {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...asked: unknown[]): unknown => {
        onAsked(String(name), asked)
        return Reflect.apply(member, target, asked)
      }
    },
  })
}

/** Reads a data folder. */
export async function read<T>(data: DataFolder, use: (store: Store) => Promise<T>): Promise<T> {
  const store = openEmbeddedStore({ file: data.tape, readOnly: true })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The gaps of an instrument as text: reason, start and end in ms after the start of the test. */
export async function gapsOf(data: DataFolder, venue: VenueId, key: string): Promise<string[]> {
  const gaps = await read(data, (store) => store.gaps({ venue, key }))
  const at = (time: number): string => String((time - START_MS * 1000) / 1000)
  return gaps.map(
    ({ reason, start, end }) => `${reason} ${at(start)}–${end === undefined ? '' : at(end)}`,
  )
}

/** The books of an instrument as text: time, bids and asks best first. */
export async function booksOf(data: DataFolder, venue: VenueId, key: string): Promise<string[]> {
  return read(data, async (store) => {
    const { runs } = await store.books({ venue, key, order: 'asc', limit: 10_000 })
    const { sizeDecimals } = VENUES[venue]
    return Array.from(foldRuns(runs, sizeDecimals), ({ columns, row, book }) => {
      const at = (columns.received[row]! - START_MS * 1000) / 1000
      return `${at}: ${book}`
    })
  })
}

/** The differences between the store and a rebuild from the journal. */
export async function differences(data: DataFolder): Promise<readonly unknown[]> {
  const store = openEmbeddedStore({ file: data.tape })
  try {
    await store.seal()
    const report = await compareWithJournal(store, data)
    return [...report.differences, ...report.damage]
  } finally {
    await store.close()
  }
}
