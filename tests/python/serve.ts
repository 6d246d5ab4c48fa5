import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Micros } from '../../packages/sdk/src/domain/index.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { ALERTS_FILE } from '../../packages/service/src/alerts/alert-store.ts'
import { openAlerts } from '../../packages/service/src/alerts/alert-worker.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createCursorCodec } from '../../packages/service/src/api/cursor.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { createAuditor } from '../../packages/service/src/derive/audit.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { pause, start } from '../capture/harness.ts'
import { hasEnough } from '../sdk/enough.ts'
import { run } from '../service-process.ts'

// Fast enough that rounds of five minutes close and are settled within the seconds that are recorded.
const PAST_SPEED = 40
const PAST_MS = 15_000
const PAST_ROWS = 40

type Kept = {
  readonly store: EmbeddedStore
  readonly data: DataFolder
  readonly destroy: () => Promise<void>
}

type Served = { readonly url: string; readonly key: string; close(): Promise<void> }

/** What goes on being recorded, at the pace of the venues. */
async function serveLive(): Promise<Served> {
  const live = await start({ seed: 3, rates: { changes: 20, trades: 1.2, pauses: 0 } })
  while (!(await hasEnough(live.store))) await pause(100)
  return serve({ ...live, destroy: () => live.destroy() })
}

/** Rounds that have come and gone: nothing is added any more. */
async function servePast(): Promise<Served> {
  const past = await start({ seed: 7, speed: PAST_SPEED })
  await pause(PAST_MS)
  while (!(await hasRows(past.store))) await pause(100)
  await past.stop()
  return serve({ ...past, destroy: () => past.destroy() })
}

/** All recorded messages of a real venue, where there are recordings. */
async function serveRecordings(): Promise<Served | undefined> {
  const recordings = process.env['PRIORBOOK_RECORDINGS']
  if (recordings === undefined) return undefined
  const path = mkdtempSync(join(tmpdir(), 'priorbook-recordings-'))
  const data = toDataFolder(join(path, 'data'))
  run('import', 'venueb', '--data', data.path, join(recordings, 'venueb/ws-gold15m'))
  const store = openEmbeddedStore({ file: data.tape })
  const destroy = async (): Promise<void> => {
    await store.close()
    rmSync(path, { recursive: true, force: true })
  }
  return serve({ store, data, destroy })
}

async function hasRows(store: EmbeddedStore): Promise<boolean> {
  for (const venue of EMULATED_VENUES) {
    const instruments = await store.instruments(venue)
    if (!instruments.some(({ lastSequence }) => lastSequence > PAST_ROWS)) return false
  }
  return true
}

async function serve({ store, data, destroy }: Kept): Promise<Served> {
  const home = join(dirname(data.tape), 'access')
  mkdirSync(home)
  const access = openAccess(home)
  const auditor = createAuditor(store, data.journal)
  const delivery = { timeoutMs: 10_000, retryMinMs: 50, retryMaxMs: 1000, giveUpMs: 600_000 }
  const file = join(home, ALERTS_FILE)
  // Receivers of tests listen on loopback.
  const options = { file, queue: 10, allowNetworks: ['127.0.0.0/8'], ...delivery }
  const now = (): Micros => (Date.now() * 1000) as Micros
  const alerts = openAlerts(options, access, now)
  alerts.start({ store, cursors: createCursorCodec(access.cursorSecrets), now }, (error) => {
    throw error
  })
  const server = createApiServer({
    store,
    access,
    auditor,
    demo: { store },
    alerts: alerts.rules,
  })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'python' })
  return {
    url,
    key,
    async close() {
      await server.close(500)
      await alerts.stop()
      access.close()
      await destroy()
    },
  }
}

// Serves all of them until standard input ends, and prints their addresses and keys as one line of JSON. One after
// another, because an import and a fast recorder would keep the live one from its sockets.
const recordings = await serveRecordings()
const past = await servePast()
const live = await serveLive()
const print = (served: Served | undefined): object | null =>
  served === undefined ? null : { url: served.url, key: served.key }
console.log(JSON.stringify({ recordings: print(recordings), past: print(past), live: print(live) }))
process.stdin.resume()
await once(process.stdin, 'end')
for (const served of [recordings, past, live]) await served?.close()
