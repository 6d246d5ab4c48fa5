import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startEmulator, type Emulator } from '../../packages/emulator/src/emulator.ts'
import { toConnectors } from '../../packages/service/src/commands/emulated.ts'
import { loadConfig } from '../../packages/service/src/config/index.ts'
import { openRecorder } from '../../packages/service/src/recorder/recorder.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { check } from './checker.ts'
import { countOf } from './emulated-home.ts'
import { pause } from './harness.ts'
import { toLiveEnvironment } from './recorder-process.ts'

const SECONDS = countOf(60, 12)
/** Matches pass: they open, pause, move their close and end. The others stand. */
const SERIES = [
  'KXNBAGAME',
  'KXNFLGAME',
  'KXEPLGAME',
  'KXLALIGAGAME',
  'KXINX',
  'KXHIGHNYC',
  'KXGOVAL',
]

/** Records these series of venue B; gives the store and the wall time (µs) of the stop. */
async function record(emulator: Emulator): Promise<{ store: EmbeddedStore; until: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-breadth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const env = {
    ...toLiveEnvironment(emulator.addresses, folder),
    PRIORBOOK_UPSTREAM: 'live',
    PRIORBOOK_VENUEB_SERIES: SERIES.join(','),
  }
  const silent = (): void => undefined
  const recorder = await openRecorder({
    store,
    journalDir: join(folder, 'journal'),
    origin: 'emulator',
    recorder: 'r1',
    log: { info: silent, warn: silent, error: silent },
    connectors: toConnectors(loadConfig({ env }), undefined),
  })
  const abort = new AbortController()
  const running = recorder.run(abort.signal)
  await pause(SECONDS * 1000)
  const until = Date.now() * 1000
  await pause(300)
  abort.abort()
  await running
  return { store, until }
}

test('topics of a broad world are recorded as the log of the truth says', async () => {
  const emulator = await startEmulator({
    seed: 51,
    venues: ['venueb'],
    markets: { venueb: 1 },
    breadth: { venueb: 600 },
    rates: { breadth: 1_500, turnover: 60 },
    log: { memory: true },
  })
  onTestFinished(() => emulator.close())
  const { store, until } = await record(emulator)
  const verdict = await check(emulator.truth.entries, store, { until: until - 200_000 })
  expect(verdict.complaints).toEqual([])
  expect(verdict).toMatchObject({ lost: 0, unseen: 0 })
  expect(verdict.instruments).toBeGreaterThan(60)
  expect(verdict.rows).toBeGreaterThan(SECONDS * 50)
  expect(verdict.trades).toBeGreaterThan(SECONDS)
})
