import { openSync } from 'node:fs'
import { pino, type Logger } from 'pino'
import { toMicros, VENUE_IDS, type Micros, type PriorbookError } from '@priorbook/sdk/domain'
import { openAlerts, type AlertOptions } from '../alerts/alert-worker.ts'
import { openContracts } from '../api/contracts/operator-file.ts'
import { openAccess, type Access } from '../api/auth/access.ts'
import { createCursorCodec } from '../api/cursor.ts'
import { redactKeys } from '../api/auth/key-text.ts'
import { createApiServer, type ApiServerOptions } from '../api/server.ts'
import { readWebFiles } from '../api/web/web-files.ts'
import type { RecorderPulse } from '../lib/pulse.ts'
import { newestOrigin } from '../journal/index.ts'
import type { ApiTally } from '../lib/api-tally.ts'
import { createClientAddress } from '../lib/client-address.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import { LineBuffer } from '../lib/line-buffer.ts'
import { createAuditor } from '../derive/audit.ts'
import { createProofReader } from '../proofs/proof-reader.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { openFilesStore } from '../store/files/open.ts'
import type { InstrumentRef } from '../store/store.ts'
import { startTracing } from './start-tracing.ts'
import { traceReads } from './trace-reads.ts'

/** What a worker serves, and where. */
export type WorkerOptions = {
  readonly dataPath: string
  readonly tape: string
  /** The folder of the files that `tape` is an index of; absent where `tape` is a tape. */
  readonly filesFolder?: string
  readonly journal: string
  readonly host: string
  readonly port: number
  readonly reusePort: boolean
  readonly cacheBytes: number
  readonly coldCacheBytes: number
  readonly tempBytes: number
  readonly corsOrigin: string
  readonly plansFile: string
  /** The operator's file of contracts; empty for none. */
  readonly contractsFile: string
  /** The server on which nodes count requests together; empty for none. */
  readonly redis: string
  /** Absent where no alerts are kept: over downloaded files, and over a tape that machines share. */
  readonly alerts?: AlertOptions
  /** Proxies whose word on the address of a client is taken. */
  readonly trustProxy: readonly string[]
  /** Whether messages of the stream are compressed for clients that ask for it. */
  readonly isStreamCompressed: boolean
  /** Absent where only the operator gives out keys. */
  readonly signup?: NonNullable<ApiServerOptions['signup']>
  /** Absent for plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly logLevel: string
  /** Absent for standard error. */
  readonly logFile?: string
  readonly isTracing: boolean
  /** Known where this service records; else it is read from the journal. */
  readonly isEmulated?: boolean
  /** The key of emulated data, which the explorer gets in a browser on this machine. */
  readonly startKey?: string
  /** The tape of the sample market, for the demo where the data are not emulated. */
  readonly demoTape?: string
}

/** A message of a worker to its parent. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'tally'; readonly tally: ApiTally }
  /** Reading met a damaged chunk of this instrument. */
  | { readonly kind: 'damage'; readonly ref: InstrumentRef }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** A message of the parent to a worker. */
export type ParentMessage =
  | { readonly kind: 'start'; readonly options: WorkerOptions }
  | { readonly kind: 'pulse'; readonly pulse: RecorderPulse }
  | { readonly kind: 'reload' }
  | { readonly kind: 'stop' }

const CLOSE_MS = 10_000
const TALLY_MS = 1000
const LOG_FLUSH_MS = 500
const TELL_MS = 60_000
const MAX_TOLD = 1000
const EMULATED = {
  code: 'emulated_data',
  message: 'The data come from an emulator, not from a venue.',
}
const SAMPLE = {
  code: 'sample_data',
  message: 'The data are invented samples, not recordings of a venue.',
}

/** Serves one data folder until the parent stops it or is gone. */
async function serve(options: WorkerOptions, whenStopped: Promise<void>): Promise<void> {
  const log = createLog(options)
  const { tape, filesFolder: folder, cacheBytes, coldCacheBytes } = options
  const onDamage = createTeller()
  const opened =
    folder === undefined
      ? openEmbeddedStore({ file: tape, readOnly: true, cacheBytes, coldCacheBytes, onDamage })
      : openFilesStore({ folder, index: tape, cacheBytes })
  const tracing = options.isTracing ? await startTracing('api') : undefined
  const store = tracing === undefined ? opened : traceReads(opened, tracing)
  const access = openKeys(options, (why) => log.warn({ why }, 'control files'))
  const isEmulated = options.isEmulated ?? hasEmulated(options.journal)
  const sample =
    options.demoTape === undefined || isEmulated
      ? undefined
      : openEmbeddedStore({ file: options.demoTape, readOnly: true })
  const contracts = openContracts(options.contractsFile, (why) =>
    log.error({ why }, 'the file of contracts is wrong: nothing changes'),
  )
  const proofs = folder === undefined ? createProofReader(options.dataPath) : undefined
  const now = (): Micros => toMicros(Date.now() * 1000)
  const alerts = options.alerts && openAlerts(options.alerts, access, now)
  const server = createApiServer({
    store,
    ...(alerts === undefined ? {} : { alerts: alerts.rules }),
    ...(proofs === undefined ? {} : { proofs }),
    contracts: contracts.current,
    access,
    log,
    auditor: createAuditor(store, options.journal, coldCacheBytes),
    recorder: () => pulse,
    web: readWebFiles(),
    tempBytes: options.tempBytes,
    ...(tracing === undefined ? {} : { tracing }),
    ...(options.startKey === undefined ? {} : { startKey: options.startKey }),
    ...(options.signup === undefined ? {} : { signup: options.signup }),
    clientAddress: createClientAddress(options.trustProxy),
    stream: { isCompressed: options.isStreamCompressed },
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.corsOrigin === '' ? {} : { corsOrigin: options.corsOrigin }),
    ...(isEmulated ? { notice: EMULATED, demo: { store, notice: EMULATED } } : {}),
    ...(sample === undefined ? {} : { demo: { store: sample, notice: SAMPLE } }),
  })
  reload = () => {
    server.reloadCertificate()
    contracts.reload()
  }
  const cursors = createCursorCodec(access.cursorSecrets)
  alerts?.start({ store, cursors, contracts: contracts.current, now }, (error, what) => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error({ ...what, error: redactKeys(stack) }, 'alerts failed')
  })
  const { port } = await server.listen(options)
  send({ kind: 'listening', port })
  const timer = setInterval(() => send({ kind: 'tally', tally: server.tally() }), TALLY_MS)
  await whenStopped
  clearInterval(timer)
  await server.close(CLOSE_MS)
  await alerts?.stop()
  access.close()
  proofs?.close()
  await sample?.close()
  await opened.close()
  await tracing?.close()
}

function openKeys(options: WorkerOptions, onTrouble: (why: string) => void): Access {
  const { dataPath, plansFile, redis } = options
  return openAccess(dataPath, {
    onTrouble,
    ...(plansFile === '' ? {} : { plansFile }),
    ...(redis === '' ? {} : { redis }),
  })
}

// Tells the recorder of damage: of one instrument at most once in a while, however often it is read.
function createTeller(): (ref: InstrumentRef) => void {
  const told = new BoundedMap<string, number>(MAX_TOLD)
  return (ref) => {
    const name = `${ref.venue}:${ref.key}`
    const now = performance.now()
    if (now - (told.get(name) ?? -Infinity) < TELL_MS) return
    told.set(name, now)
    send({ kind: 'damage', ref })
  }
}

// Emulated data never share a folder with real data, so one file tells the origin of all.
function hasEmulated(journal: string): boolean {
  return VENUE_IDS.some((venue) => newestOrigin(journal, venue) === 'emulator')
}

function createLog({ logLevel, logFile }: WorkerOptions): Logger {
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

function send(message: WorkerMessage): void {
  // The parent may be gone a moment before this process notices: then it ends anyway.
  if (process.connected) process.send!(message, undefined, undefined, () => undefined)
}

let pulse: RecorderPulse | undefined
let reload = (): void => undefined

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
// Ctrl-C in a terminal signals the whole process group; the parent decides when its workers stop.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => stop())
// The parent is gone, however it ended: no one else can stop this worker later.
process.on('disconnect', () => process.exit(1))
process.on('message', (message: ParentMessage) => {
  switch (message.kind) {
    case 'start':
      serve(message.options, stopped).then(
        () => process.exit(0),
        (error: unknown) => {
          const { code = 'internal_error', message: why } = error as Partial<PriorbookError> & Error
          send({ kind: 'failed', code, message: why })
          process.exit(1)
        },
      )
      break
    case 'pulse':
      pulse = message.pulse
      break
    case 'reload':
      reload()
      break
    case 'stop':
      stop()
      break
  }
})
send({ kind: 'ready' })
