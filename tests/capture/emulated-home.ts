import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
} from '../../packages/emulator/src/emulator.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import {
  startRecorderProcess,
  toLiveEnvironment,
  type RecorderProcess,
} from './recorder-process.ts'

/** An emulator of this process and a folder for recorders of it; both are gone when the test ends. */
export type EmulatedHome = {
  readonly emulator: Emulator
  readonly home: string
  readonly data: DataFolder
  readonly env: Readonly<Record<string, string>>
  /** Starts a recorder; should the test leave it running, it is killed. */
  startRecorder(env?: Readonly<Record<string, string>>): Promise<RecorderProcess>
}

/** Starts the emulator; its log of the truth stays in memory. */
export async function createEmulatedHome(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  options: EmulatorOptions = {},
): Promise<EmulatedHome> {
  const emulator = await startEmulator({ log: { memory: true }, ...options })
  onTestFinished(() => emulator.close())
  const home = mkdtempSync(join(tmpdir(), 'priorbook-capture-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const env = toLiveEnvironment(emulator.addresses, home)
  return {
    emulator,
    home,
    data: toDataFolder(join(home, 'data')),
    env,
    async startRecorder(more = {}) {
      const recorder = await startRecorderProcess(home, { ...env, ...more })
      onTestFinished(async () => void (await recorder.end('SIGKILL')))
      return recorder
    },
  }
}

/** The counts named in the docs for `npm run test:full`, or fewer for `npm test`. */
export function countOf(full: number, reduced: number): number {
  return process.env['PRIORBOOK_FULL'] === '1' ? full : reduced
}
