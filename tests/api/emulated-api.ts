import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { WINDOW_MS } from '../../packages/emulator/src/world/families.ts'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { makeOnce } from '../../packages/service/src/lib/make-once.testing.ts'
import { createAuditor } from '../../packages/service/src/derive/audit.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { calmSpeed } from '../capture/emulated-speed.ts'
import { pause, start } from '../capture/harness.ts'
import { hasEnough } from '../sdk/enough.ts'
import { findBusiest, type BusyMarket } from './busy-market.ts'
import {
  EMULATED_VENUES,
  type EmulatedVenueId,
} from '../../packages/emulator/src/venues/registry.ts'

/** The sentence on every answer from emulated data. */
const EMULATED = {
  code: 'emulated_data',
  message: 'The data come from an emulator, not from a venue.',
}

/** What a client got. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
  readonly body: unknown
}

/** A server over what a recorder kept of the emulated venues. */
export type EmulatedApi = {
  readonly server: ApiServer
  readonly store: EmbeddedStore
  readonly errors: readonly string[]
  /** Of every request, in the order of their ends. */
  readonly statuses: readonly number[]
  readonly busiest: Readonly<Record<EmulatedVenueId, BusyMarket>>
  /** A new key of a plan; one without limits where none is named. */
  keyOf(plan?: string): string
  get(url: string, options?: GetOptions): Promise<Reply>
  close(): Promise<void>
}

/** More of a request; the key is one without limits unless said otherwise. */
type GetOptions = {
  readonly key?: string | null
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

type RecordOptions = {
  readonly ms: number
  readonly speed?: number
  readonly seed?: number
  /** Records on until this holds. */
  readonly until?: (store: EmbeddedStore) => Promise<boolean>
}

/** What was recorded, and how to be rid of it. */
type Kept = {
  readonly store: EmbeddedStore
  readonly data: DataFolder
  readonly destroy: () => Promise<void>
}

const SHARED_MS = 2000
// A round of 5 minutes lasts 30 seconds, so that none closes in a recording.
const SHARED_SPEED = 10

/** Records the three emulated venues at least so long, stops, and serves what was kept. */
export async function openEmulatedApi(options: RecordOptions): Promise<EmulatedApi> {
  return serve(await record(options))
}

/**
 * Serves a copy of some seconds, with enough of every venue, that are recorded once for all files of a test run; where
 * they lack what else is waited for, others are recorded.
 */
export async function openSharedApi(
  hasMore: (store: EmbeddedStore) => Promise<boolean> = async () => true,
): Promise<EmulatedApi> {
  const until = async (kept: EmbeddedStore): Promise<boolean> =>
    (await hasEnough(kept)) && hasMore(kept)
  const shared = await makeOnce('emulated', async (folder) => {
    const { store, data, destroy } = await recordCalm(until)
    await store.close()
    cpSync(data.path, folder, { recursive: true })
    await destroy()
  })
  if (shared === undefined) return serve(await recordCalm(until))
  const path = mkdtempSync(join(tmpdir(), 'priorbook-emulated-'))
  const data = toDataFolder(join(path, 'data'))
  cpSync(shared, data.path, { recursive: true })
  const store = openEmbeddedStore({ file: data.tape })
  const destroy = async (): Promise<void> => {
    await store.close()
    rmSync(path, { recursive: true, force: true })
  }
  if (await until(store)) return serve({ store, data, destroy })
  await destroy()
  return serve(await recordCalm(until))
}

// Of markets that are open all the while: what closes, and what follows it, has tests of its own.
function recordCalm(until: (store: EmbeddedStore) => Promise<boolean>): Promise<Kept> {
  const speed = calmSpeed(SHARED_SPEED, Object.values(WINDOW_MS))
  return record({ ms: SHARED_MS, speed, until })
}

async function record(options: RecordOptions): Promise<Kept> {
  const { ms, speed = 20, seed = 7, until = async () => true } = options
  const run = await start({ seed, speed })
  await pause(ms)
  // Looking takes the time of the recorder, which has to keep up with its venues.
  for (let began = performance.now(); !(await until(run.store)); began = performance.now()) {
    await pause(100 + 3 * (performance.now() - began))
  }
  await run.stop()
  return { store: run.store, data: run.data, destroy: () => run.destroy() }
}

async function serve({ store, data, destroy }: Kept): Promise<EmulatedApi> {
  const home = join(dirname(data.tape), 'access')
  mkdirSync(home)
  const access = openAccess(home)
  const errors: string[] = []
  const statuses: number[] = []
  const server = createApiServer({
    store,
    access,
    auditor: createAuditor(store, data.journal),
    notice: EMULATED,
    demo: { store, notice: EMULATED },
    log: {
      info: (fields) => void statuses.push((fields as { status: number }).status),
      warn: (fields, message) => void errors.push(`${message} ${JSON.stringify(fields)}`),
      error: (fields, message) => void errors.push(`${message} ${JSON.stringify(fields)}`),
    },
  })
  const keyOf = (plan = 'unlimited'): string => access.keys.create({ plan, name: 'test' }).key
  const own = keyOf()
  const { ask, close } = createAsker(server.handle)
  return {
    server,
    store,
    errors,
    statuses,
    busiest: Object.fromEntries(
      await Promise.all(
        EMULATED_VENUES.map(async (venue) => [venue, (await findBusiest(store, venue))!]),
      ),
    ) as Record<EmulatedVenueId, BusyMarket>,
    keyOf,
    async get(url, { key = own, method = 'GET', headers = {} } = {}) {
      const {
        status,
        headers: sent,
        bytes,
        text,
      } = await ask(url, {
        method,
        headers,
        ...(key === null ? {} : { key }),
      })
      return { status, headers: sent, bytes, body: bodyOf(sent['content-type'] ?? '', text) }
    },
    async close() {
      close()
      await server.close(500)
      access.close()
      await destroy()
    },
  }
}

function bodyOf(contentType: string, text: string): unknown {
  return /\bjson\b/.test(contentType) ? (JSON.parse(text) as unknown) : text
}
