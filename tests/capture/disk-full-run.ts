import { rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError } from '@priorbook/sdk/domain'
import { startEmulator } from '../../packages/emulator/src/emulator.ts'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { check, type Verdict } from './checker.ts'
import { startRecorderProcess, toLiveEnvironment, until } from './recorder-process.ts'

/** What a recorder on a disk that filled up did, as this process prints it. */
export type DiskFullResult = {
  /** How long the disk took to fill, and recording to go on after there was space. */
  readonly filledMs: number
  readonly resumedMs: number
  readonly refused: number
  /** Rows that another process could read before and while the disk was full, and in the end. */
  readonly rows: { readonly before: number; readonly full: number; readonly end: number }
  /** Books that missed nothing when the disk was full, and gaps `disk_full` with an end. */
  readonly openBooks: number
  readonly gaps: number
  readonly openGaps: number
  readonly code: number | null
  readonly noise: readonly string[]
  readonly errors: readonly string[]
  readonly differences: readonly unknown[]
  readonly verdict: Verdict
}

// Run as a process of its own, in a private mount: records onto a disk that is full by a ballast file.
const FILL_MS = 30_000

async function run(disk: string, ballastBytes: number): Promise<DiskFullResult> {
  const ballast = join(disk, 'ballast')
  writeFileSync(ballast, Buffer.alloc(ballastBytes, 1))
  const rates = { changes: 100, trades: 2, pauses: 0 }
  const emulator = await startEmulator({ seed: 21, log: { memory: true }, rates })
  const recorder = await startRecorderProcess(disk, toLiveEnvironment(emulator.addresses, disk))
  const data = toDataFolder(join(disk, 'data'))
  try {
    const began = performance.now()
    const venuesOf = async () => Object.values((await recorder.status()).recorder!.venues)
    await until('books of every venue', FILL_MS, async () =>
      (await venuesOf()).every(({ books }) => books.open >= 4) ? true : undefined,
    )
    const reader = openEmbeddedStore({ file: data.tape, readOnly: true })
    const before = await countRows(reader)
    const wasSpace = Date.now() * 1000
    const isFull = async (): Promise<boolean> => (await recorder.status()).recorder!.diskFull
    await until('a full disk', FILL_MS, async () => ((await isFull()) ? true : undefined))
    const filledMs = performance.now() - began
    const openBooks = (await venuesOf()).reduce((sum, { books }) => sum + books.open, 0)
    // Long enough that several attempts to write fail.
    await pause(1500)
    const full = await countRows(reader)

    rmSync(ballast)
    const freed = performance.now()
    await until('recording again', FILL_MS, async () =>
      (await countRows(reader)) > full ? true : undefined,
    )
    const resumedMs = performance.now() - freed
    const unkept = [{ from: wasSpace, to: Date.now() * 1000 }]
    // Venues find space one after the other: every book that was open must have its gap, and its end.
    await until('full books again', FILL_MS, async () => {
      const told = await reader.gaps({ reason: 'disk_full' })
      const isOver = told.length >= openBooks && told.every(({ end }) => end !== undefined)
      return isOver ? true : undefined
    })
    await pause(500)
    const { refused } = (await recorder.status()).recorder!
    const stoppedAt = Date.now() * 1000
    const code = await recorder.end('SIGTERM')
    await reader.close()
    await emulator.close()

    const store = openEmbeddedStore({ file: data.tape })
    await store.seal()
    const gaps = await store.gaps({ reason: 'disk_full' })
    const report = await compareWithJournal(store, data)
    const judged = { until: stoppedAt - 500_000, unkept }
    const verdict = await check(emulator.truth.entries, store, judged)
    const end = await countRows(store)
    await store.close()
    return {
      filledMs: Math.round(filledMs),
      resumedMs: Math.round(resumedMs),
      refused,
      rows: { before, full, end },
      openBooks,
      gaps: gaps.filter((gap) => gap.end !== undefined).length,
      openGaps: gaps.filter((gap) => gap.end === undefined).length,
      code,
      noise: recorder.noise,
      errors: recorder.logs.filter(({ level }) => level >= 50).map(({ msg }) => msg),
      differences: [...report.differences, ...report.damage],
      verdict,
    }
  } catch (cause) {
    const { code, noise, logs } = recorder
    const told = [...logs.map((line) => JSON.stringify(line)), ...noise].slice(-20).join('\n')
    const state = code === undefined ? 'runs' : `ended with ${code}`
    throw new PriorbookError('upstream_failed', `the recorder ${state}:\n${told}`, { cause })
  } finally {
    await recorder.end('SIGKILL')
    await emulator.close()
  }
}

/** Reads every row that there is, as a client would. */
async function countRows(store: Store): Promise<number> {
  let rows = 0
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const page = await store.books({ venue, key, order: 'asc', limit: 1_000_000 })
    rows += page.count
  }
  return rows
}

const [disk, ballastBytes] = process.argv.slice(2) as [string, string]
const result = await run(disk, Number(ballastBytes))
writeSync(1, JSON.stringify(result))
