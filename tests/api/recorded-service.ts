import { execFile } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { EmulatorOptions } from '../../packages/emulator/src/emulator.ts'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import type { EmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { pause, start } from '../capture/harness.ts'

/** What was recorded of an emulator, served, beside every text that the emulator sent. */
export type RecordedService = {
  readonly store: EmbeddedStore
  /** The data folder and the folder around it, which is removed in the end. */
  readonly data: string
  readonly home: string
  /** Frames and answers that were sent, with their texts; the last ones may not have been read. */
  readonly sent: readonly (TruthEntry & { readonly text: string })[]
  /** The body of a path below the origin; throws for any status but 200. */
  get(path: string): Promise<Uint8Array>
  json(path: string): Promise<Page>
  close(): Promise<void>
}

/** A page of any route. */
type Page = {
  readonly data: readonly Record<string, never>[]
  readonly pagination: { readonly next_cursor: string | null }
}

/** Records emulated venues for a while, and until something holds, and serves what was kept. */
export async function recordAndServe(
  options: EmulatorOptions & {
    readonly ms: number
    readonly until?: (store: EmbeddedStore) => Promise<boolean>
  },
): Promise<RecordedService> {
  const { ms, until = async () => true, ...emulated } = options
  const run = await start({ ...emulated, log: { memory: true, texts: 'full' } })
  await pause(ms)
  while (!(await until(run.store))) await pause(200)
  await run.stop()
  const home = join(run.data.path, '..', 'home')
  mkdirSync(home)
  const access = openAccess(home)
  const server = createApiServer({ store: run.store, access })
  const { ask, close } = createAsker(server.handle)
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  const get = async (path: string): Promise<Uint8Array> => {
    const { status, text, bytes } = await ask(path, { key })
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 500)}`)
    return bytes
  }
  return {
    store: run.store,
    data: run.data.path,
    home,
    sent: run.emulator.truth.entries.filter(
      (entry): entry is TruthEntry & { readonly text: string } =>
        'text' in entry && entry.text !== undefined,
    ),
    get,
    json: async (path) => JSON.parse(new TextDecoder().decode(await get(path))) as Page,
    async close() {
      close()
      await server.close(500)
      access.close()
      await run.destroy()
    },
  }
}

const MAX_OUTPUT = 64 * 1024 * 1024

/** Runs one of the two programs and gives what it printed. */
export async function runProgram(
  name: 'priorbook' | 'priorbook-server',
  ...args: readonly string[]
): Promise<string> {
  const folder = name === 'priorbook' ? 'sdk' : 'service'
  const bin = join(import.meta.dirname, `../../packages/${folder}/bin/${name}.mjs`)
  const { stdout } = await promisify(execFile)(process.execPath, [bin, ...args], {
    maxBuffer: MAX_OUTPUT,
  })
  return stdout
}

/** Expects that the journal of a service gives its rows: by `verify --journal`, and by a rebuild. */
export async function expectRebuilt({ store, home, data }: RecordedService): Promise<void> {
  const copy = join(home, 'copy')
  await store.seal()
  cpSync(data, copy, { recursive: true })
  const check = ['verify', '--journal', '--json', '--data', copy]
  const verified = await runProgram('priorbook-server', ...check)
  expect(JSON.parse(verified)).toMatchObject({ problems: [] })
  const rebuilt = await runProgram('priorbook-server', 'rebuild', '--json', '--data', copy)
  expect(JSON.parse(rebuilt)).toMatchObject({ differences: [], damage: [] })
}
