import { openSync } from 'node:fs'
import { pino, type Logger } from 'pino'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { openAccess } from '../api/auth/index.ts'
import { createApiServer } from '../api/server.ts'
import { readWebFiles } from '../api/web/web-files.ts'
import type { RecorderPulse } from '../lib/pulse.ts'
import { readRecord } from '@priorbook/sdk/journal'
import type { ApiTally } from '../lib/api-tally.ts'
import { LineBuffer } from '../lib/line-buffer.ts'
import { boundYoungGeneration } from '../lib/memory.ts'
import { createAuditor } from '../derive/audit.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { openFilesStore } from '../store/files/open.ts'
import type { Store } from '../store/store.ts'

/** What a process that answers is told by the one that started it. */
export type WorkerOrder = {
  readonly dataPath: string
  readonly tape: string
  /** The folder whose files `tape` is an index of; absent where it is a tape itself. */
  readonly filesFolder?: string
  readonly journal: string
  readonly host: string
  readonly port: number
  readonly reusePort: boolean
  readonly cacheBytes: number
  readonly corsOrigin: string
  readonly plansFile: string
  readonly logLevel: string
  /** Standard error when absent. */
  readonly logFile?: string
  /** Known to who records; else the folder is asked. */
  readonly isEmulated?: boolean
  /** The tape of the demonstration where the data of the folder are not emulated. */
  readonly demoTape?: string
}

/** What such a process says. */
export type WorkerWord =
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'tally'; readonly tally: ApiTally }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** What it hears later. */
export type WorkerNews =
  | { readonly kind: 'order'; readonly order: WorkerOrder }
  | { readonly kind: 'pulse'; readonly pulse: RecorderPulse }
  | { readonly kind: 'stop' }

const CLOSE_MS = 10_000
const TALLY_MS = 1000
const LOG_FLUSH_MS = 500
const EMULATED = {
  code: 'emulated_data',
  message: 'The data come from an emulator, not from a venue.',
}
const SAMPLE = {
  code: 'sample_data',
  message: 'The data are invented samples, not recordings of a venue.',
}

/** Serves one data folder until it is told to stop or its parent is gone. */
async function serve(order: WorkerOrder, whenStopped: Promise<void>): Promise<void> {
  const log = createLog(order)
  const trouble = (why: string): void => log.warn({ why }, 'control files')
  const { tape, filesFolder: folder, cacheBytes } = order
  const store =
    folder === undefined
      ? openEmbeddedStore({ file: tape, readOnly: true, cacheBytes })
      : openFilesStore({ folder, index: tape, cacheBytes })
  const { plansFile } = order
  const access = openAccess(order.dataPath, {
    onTrouble: trouble,
    ...(plansFile === '' ? {} : { plansFile }),
  })
  const isEmulated = order.isEmulated ?? (await hasEmulated(store, order.journal))
  const sample =
    order.demoTape === undefined || isEmulated
      ? undefined
      : openEmbeddedStore({ file: order.demoTape, readOnly: true })
  const server = createApiServer({
    store,
    access,
    log,
    journalDir: order.journal,
    auditor: createAuditor(store, order.journal),
    recorder: () => pulse,
    web: readWebFiles(),
    ...(order.corsOrigin === '' ? {} : { corsOrigin: order.corsOrigin }),
    ...(isEmulated ? { notice: EMULATED, demo: { store, notice: EMULATED } } : {}),
    ...(sample === undefined ? {} : { demo: { store: sample, notice: SAMPLE } }),
  })
  const { port } = await server.listen(order)
  say({ kind: 'listening', port })
  const timer = setInterval(() => say({ kind: 'tally', tally: server.tally() }), TALLY_MS)
  await whenStopped
  clearInterval(timer)
  await server.close(CLOSE_MS)
  access.close()
  await sample?.close()
  await store.close()
}

// Emulated data never share a folder with real data: one record tells them all.
async function hasEmulated(store: Store, journal: string): Promise<boolean> {
  for (const venue of VENUE_IDS) {
    const position = await store.appliedPosition(venue)
    if (position === 0) continue
    try {
      const record = readRecord({ dir: journal, venue }, position)
      if (record !== undefined) return record.origin === 'emulator'
    } catch {
      // A folder without its journal says nothing of its origin.
    }
  }
  return false
}

function createLog({ logLevel, logFile }: WorkerOrder): Logger {
  const file = logFile === undefined ? 2 : openSync(logFile, 'a')
  const destination = pino.destination({ dest: file, sync: false })
  const lines = new LineBuffer(destination)
  setInterval(() => lines.flush(), LOG_FLUSH_MS).unref()
  process.once('exit', () => {
    lines.flush()
    destination.flushSync()
  })
  return pino({ level: logLevel, base: null }, lines)
}

function say(word: WorkerWord): void {
  if (process.connected) process.send!(word)
}

let pulse: RecorderPulse | undefined

boundYoungGeneration()
const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
// Ctrl-C of a terminal reaches every process of the group: the parent decides when this one ends.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => stop())
process.on('disconnect', () => stop())
process.on('message', (news: WorkerNews) => {
  switch (news.kind) {
    case 'order':
      serve(news.order, stopped).then(
        () => process.exit(0),
        (error: unknown) => {
          const { code = 'internal_error', message } = error as { code?: string; message: string }
          say({ kind: 'failed', code, message })
          process.exit(1)
        },
      )
      break
    case 'pulse':
      pulse = news.pulse
      break
    case 'stop':
      stop()
      break
  }
})
say({ kind: 'ready' })
