import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { VenueId } from '@priorbook/sdk/domain'
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
} from '../../packages/emulator/src/emulator.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { toConnectors } from '../../packages/service/src/commands/emulated.ts'
import { loadConfig } from '../../packages/service/src/config/index.ts'
import type { Clock } from '../../packages/service/src/lib/clock.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { openRecorder, type Recorder } from '../../packages/service/src/recorder/recorder.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'

/** An emulator and a recorder that records it, over real sockets. */
export type Running = {
  readonly emulator: Emulator
  readonly recorder: Recorder
  readonly store: EmbeddedStore
  readonly data: DataFolder
  readonly logs: readonly string[]
  /** Stops the recorder in order; the store stays open. Gives the wall time (µs) of the stop. */
  stop(): Promise<number>
  destroy(): Promise<void>
}

const SETTLE_TURNS = 20
const SETTLE_MS = 300

/** Starts both. */
export async function start(
  options: EmulatorOptions & {
    readonly record?: readonly VenueId[]
    readonly env?: Record<string, string>
    /** The recorder's clock; the system's by default. */
    readonly clock?: Clock
  },
): Promise<Running> {
  const speed = options.speed ?? 1
  const emulator = await startEmulator({ log: { memory: true }, ...options })
  const path = mkdtempSync(join(tmpdir(), 'priorbook-capture-'))
  const data = toDataFolder(join(path, 'data'))
  const store = openEmbeddedStore({ file: data.tape })
  const logs: string[] = []
  const log = (level: string) => (fields: object, message: string) => {
    logs.push(`${level} ${message} ${JSON.stringify(fields)}`)
  }
  const env: Record<string, string> = { PRIORBOOK_EMULATOR_SPEED: String(speed), ...options.env }
  for (const venue of EMULATED_VENUES) {
    if (options.record?.includes(venue) === false)
      env[`PRIORBOOK_${venue.toUpperCase()}_ENABLED`] = 'false'
  }
  const recorder = await openRecorder({
    store,
    journalDir: data.journal,
    origin: 'emulator',
    recorder: 'r1',
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    connectors: toConnectors(loadConfig({ env }), emulator.addresses),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  })
  const abort = new AbortController()
  const running = recorder.run(abort.signal)
  running.catch(() => undefined)
  let stopped = false
  const stop = async (): Promise<number> => {
    const at = Date.now() * 1000
    // What was on the wire by now is read before the end, however little of the machine is ours.
    for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise(setImmediate)
    await pause(SETTLE_MS)
    abort.abort()
    stopped = true
    await running
    return at
  }
  return {
    emulator,
    recorder,
    store,
    data,
    logs,
    stop,
    async destroy() {
      if (!stopped) await stop()
      await emulator.close()
      await store.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
