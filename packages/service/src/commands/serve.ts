import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino, type Logger } from 'pino'
import { parsedOption, type Option } from '@priorbook/sdk/command-line'
import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { configKeys, type Config } from '../config/index.ts'
import { parseAmount } from '../config/retention.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import type { Tracing } from '../lib/tracing.ts'
import { untilAborted } from '../lib/wait.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { createDiskForecast, type DiskState } from '../ops/disk-forecast.ts'
import { createMetrics } from '../ops/metrics.ts'
import { ProofSigner } from '../proofs/proof-signer.ts'
import { findAwayRegularly } from '../retention/away-finder.ts'
import { ByteSurvey } from '../retention/byte-kinds.ts'
import { ColdMover } from '../retention/cold-mover.ts'
import { Keeper, segmentLimits } from '../retention/keeper.ts'
import { Scrubber } from '../retention/scrubber.ts'
import { KeyDesk } from '../ops/key-desk.ts'
import { KeyRoutes } from '../ops/key-routes.ts'
import { openOpsServer, type OpsSources } from '../ops/server.ts'
import { toStatusLine, type ServiceStatus } from '../ops/status.ts'
import type { Member } from '../cluster/member.ts'
import { isDatabase } from '../cluster/address.ts'
import type { SharedAccess } from '../cluster/shared-access.ts'
import { skipJournal } from '../cluster/skip-journal.ts'
import { openRecorder, type Recorder } from '../recorder/recorder.ts'
import type { TakeoverTarget } from '../recorder/taken-tape.ts'
import { readJournalEnds } from '../derive/journal-end.ts'
import { openEmbeddedStore, type EmbeddedStore, type MadePack } from '../store/embedded/open.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { definitionOf } from '../venues/registry.ts'
import { defineCommand } from './command.ts'
import { CONFIG_OPTION, dataFolderOf, isDefaultPort, readConfig } from './command-config.ts'
import { startEmulated, toConnectors, type Emulated } from './emulated.ts'
import { folderOf, hostedLine, openHosted, type HostedFolder } from './hosted-folder.ts'
import { MAX_OTHER_PORTS, type ApiWorkers } from './api-workers.ts'
import { runPacker } from './packer.ts'
import { explainLocked, forgetRunning, noteRunning } from './running-service.ts'
import { serveApi } from './serve-api.ts'
import { removeStandby, StandbyRecorder, type RecorderParts } from './standby-recorder.ts'
import { startTracing } from './start-tracing.ts'
import { tellUpgrade } from './tell-upgrade.ts'
import { refuseMixedVenues } from './upstream-addresses.ts'
import { VenueRecorders } from './venue-recorders.ts'

// How often the status line is printed: on a terminal, and into a pipe or file.
const LINE_MS = 1000
const PIPED_LINE_MS = 10_000
// How long a recorder that stands by waits after it could not begin to record.
const STANDBY_MS = 10_000
// Of a recorder's time: the directory of a large tape takes half a minute to add up.
const SURVEY_SHARE = 0.02

// An option that sets a key of the configuration; `loadConfig` checks its value.
type SettingOption = Option<string | undefined> & { readonly key: string }

function settingOption(key: string, value = 'N'): SettingOption {
  const { description, must } = configKeys().find(({ path }) => path.join('.') === key)!
  const { options: words } = must as { readonly options?: readonly string[] }
  const form = { value, ...(words !== undefined && { words }) }
  return { key, ...parsedOption(description, form, (text) => text) }
}

const SETTINGS = {
  upstream: settingOption('upstream', 'UPSTREAM'),
  role: settingOption('role', 'ROLE'),
  store: settingOption('store', 'ADDRESS'),
  redis: settingOption('redis', 'ADDRESS'),
  port: settingOption('api.port'),
  workers: settingOption('api.workers'),
  'cors-origin': settingOption('api.corsOrigin', 'ORIGIN'),
  recorder: settingOption('recorder', 'ID'),
  processes: settingOption('processes', 'PER'),
  'ops-port': settingOption('ops.port'),
  speed: settingOption('emulator.speed'),
  seed: settingOption('emulator.seed'),
}

/** `priorbook-server serve`, which `npm start` runs. */
export const serveCommand = defineCommand({
  name: 'serve',
  args: '',
  mostArgs: 0,
  about:
    'Records the venues (or their emulator), serves the API and shows its status, until it is stopped.',
  options: { ...SETTINGS, ...CONFIG_OPTION },
  examples: [
    'npm start',
    'priorbook-server serve --upstream live --config priorbook.json',
    'priorbook-server serve --upstream none --data data --port 8790',
    'priorbook-server serve --upstream emulator --speed 20 --data /tmp/fast',
    'priorbook-server serve --store files:downloads --data data',
    'priorbook-server serve --role api --store postgres://priorbook@db/tape --data copy',
  ],
  async run(context) {
    const given = new Map<string, string>()
    for (const [name, { key }] of Object.entries(SETTINGS)) {
      const text = context.options[name as keyof typeof SETTINGS]
      if (text !== undefined) given.set(key, text)
    }
    const config = readConfig(context.options.config, given)
    const isEmulated = config.store === '' && config.upstream === 'emulator'
    const reread = (): Config => readConfig(context.options.config, given)
    return serve(config, dataFolderOf(context, config, isEmulated), reread)
  },
})

// Folders of older versions could be read by every user; a group that was let in stays in.
function closeToOthers(folder: string): void {
  const mode = statSync(folder).mode & 0o777
  if ((mode & 0o007) !== 0) chmodSync(folder, mode & 0o770)
}

async function serve(started: Config, data: DataFolder, reread: () => Config): Promise<number> {
  let config = started
  makeFolder(data.path)
  closeToOthers(data.path)
  const isTerminal = process.stdout.isTTY
  const logFile = isTerminal ? join(data.path, 'priorbook.log') : undefined
  let service = new Service(config, data, logFile)
  const stop = new AbortController()
  const onSignal = (): void => {
    stop.abort()
    service.stop()
  }
  const onReload = (): void => {
    // The terminal was closed.
    if (isTerminal) onSignal()
    else config = service.reload(reread) ?? config
  }
  process.once('SIGTERM', onSignal)
  process.once('SIGINT', onSignal)
  process.on('SIGHUP', onReload)
  // The reader of standard output may close it; recording goes on.
  const onClosedPipe = (): void => undefined
  process.stdout.on('error', onClosedPipe)
  try {
    while (!(await runService(service, isTerminal)) && !stop.signal.aborted) {
      service = new Service(config, data, logFile)
    }
    return 0
  } catch (error) {
    throw await explainLocked(error, data)
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
    process.off('SIGHUP', onReload)
    process.stdout.off('error', onClosedPipe)
  }
}

// True when the service was stopped; false when it must be opened again with another copy of a shared tape.
async function runService(service: Service, isTerminal: boolean): Promise<boolean> {
  try {
    await service.open()
    const line = showLine(() => service.status(), isTerminal)
    try {
      return await service.run()
    } finally {
      line.end()
    }
  } catch (error) {
    // Another recorder took over while this one was starting.
    if (error instanceof PriorbookError && error.code === 'not_writer') return false
    throw error
  } finally {
    await service.close()
  }
}

/** The parts of a running service. They are opened in order and closed in the opposite order. */
class Service {
  #config: Config
  readonly #data: DataFolder
  readonly #logFile: string | undefined
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #closers: (() => Promise<void>)[] = []
  readonly #isRecording: boolean
  readonly #filesFolder: string | undefined
  #member: Member | undefined
  #access: SharedAccess | undefined
  readonly #disk: () => DiskState
  #hosted: HostedFolder | undefined
  #emulated: Emulated | undefined
  #recorder: Recorder | undefined
  /** The recorder that records beside the writer of a shared tape, and is the writer after a takeover. */
  #standby: StandbyRecorder | undefined
  /** When it was last tried to record beside the writer. */
  #triedMs = -Infinity
  #keeper: Keeper | undefined
  #scrubber: Scrubber | undefined
  #mover: ColdMover | undefined
  #survey: ByteSurvey | undefined
  /** The tape whose old chunks are packed. */
  #packed: EmbeddedStore | undefined
  #signer: ProofSigner | undefined
  #api: Pick<ApiWorkers, 'tally'> | undefined
  #metrics: string | undefined
  #tracing: Tracing | undefined
  /** What operators read; undefined while there is no tape. */
  #tape: StoreReader | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(config: Config, data: DataFolder, logFile: string | undefined) {
    this.#config = config
    this.#data = data
    this.#logFile = logFile
    this.#log = createLog(config, logFile)
    const isShared = isDatabase(config.store)
    if (isShared && config.role === 'all') {
      const detail =
        'a shared tape needs role capture or api: what one process records, others serve'
      throw new PriorbookError('invalid_config', detail)
    }
    if (isShared && config.processes === 'venue') {
      const detail = 'processes=venue records into a tape of its own folder, not into a shared one'
      throw new PriorbookError('invalid_config', detail)
    }
    this.#filesFolder = isShared ? undefined : folderOf(config.store)
    if (this.#filesFolder !== undefined && config.role === 'capture') {
      const detail = 'role capture records, and files cannot be recorded'
      throw new PriorbookError('invalid_config', detail)
    }
    this.#isRecording =
      this.#filesFolder === undefined && config.role !== 'api' && config.upstream !== 'none'
    if (this.#isRecording && config.upstream === 'live') refuseMixedVenues(config)
    this.#disk = createDiskForecast(data.path)
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Takes the rules of selection from the configuration as it is now; other settings need a new start. */
  reload(reread: () => Config): Config | undefined {
    const recorder = this.#standby ?? this.#recorder
    if (recorder === undefined) {
      this.#log.warn({}, 'nothing is recorded now: the rules of selection are read with the start')
      return undefined
    }
    try {
      const config = { ...this.#config, ...selectionsOf(reread()) }
      this.#config = config
      for (const venue of VENUE_IDS) {
        const address = this.#emulated?.addresses[venue]
        const upstream = { config: config[venue], ...(address && { emulated: address }) }
        const selection = definitionOf(venue).toSelection?.(upstream)
        if (selection !== undefined) recorder.select(venue, selection)
      }
      this.#log.info({}, 'the rules of selection were read again')
      return config
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#log.error({ error: error.message }, 'the configuration is wrong: nothing changes')
      return undefined
    }
  }

  status(): ServiceStatus {
    const recorder = this.#standby ?? this.#recorder
    return {
      role: this.#config.role,
      upstream: this.#config.upstream,
      disk: this.#disk(),
      bytes: this.#survey?.status(),
      retention: this.#keeper?.status() ?? [],
      cold: this.#mover?.status(),
      shared: this.#member?.status(),
      ...(this.#hosted === undefined ? {} : { files: this.#hosted.report }),
      ...(recorder === undefined ? {} : { recorder: recorder.status() }),
      ...(this.#api === undefined ? {} : { api: this.#api.tally() }),
    }
  }

  async open(): Promise<void> {
    const config = this.#config
    if (this.#isRecording && config.tracing.export !== 'off') {
      this.#tracing = await startTracing('recorder')
      this.#closers.push(async () => this.#tracing?.close())
    }
    if (this.#isRecording && config.upstream === 'emulator') {
      this.#emulated = await this.#startEmulator()
    }
    if (isDatabase(config.store)) {
      this.#member = await openMember(config, this.#data, this.#log)
      // A recorder that stands by can be watched.
      await this.#openOps()
    }
    const store = await this.#openStore()
    if (store === undefined) return
    this.#tape = store
    if (this.#isRecording && this.#standby === undefined) {
      this.#recorder = await this.#openRecorder(store)
    }
    if (this.#member === undefined) await this.#openOps()
    if (config.role !== 'capture') this.#startApi()
  }

  #openRecorder(store: Store): Recorder | Promise<Recorder> {
    const [parts, journal] = [this.#recorderParts(), this.#journalParts()]
    if (this.#config.processes === 'one') return openRecorder({ ...parts, store, ...journal })
    const order = {
      config: this.#config,
      addresses: this.#emulated?.addresses,
      tape: this.#data.tape,
      journalDir: journal.journalDir,
    }
    const venues = VENUE_IDS.filter((venue) => parts.connectors[venue] !== undefined)
    return new VenueRecorders({ store, venues, order, log: this.#log })
  }

  async #openOps(): Promise<void> {
    const status = (): ServiceStatus => this.status()
    const ops = await openOps(this.#config.ops, {
      status,
      store: () => this.#tape,
      leases: this.#member && (() => this.#member!.leases()),
      metrics: createMetrics(status),
      keys: this.#openKeys(),
    })
    this.#closers.push(() => ops.close())
    this.#metrics = `${ops.url}/metrics`
    if (this.#config.role === 'capture') this.#note(ops.url, this.#metrics)
    console.log(this.#firstLine())
    console.log(`status ${ops.url}/  metrics ${ops.url}/metrics`)
    const { upstream } = this.#config
    this.#log.info({ url: ops.url, data: this.#data.path, upstream }, 'started')
  }

  // Keys of a shared tape are in the folders of the nodes that serve it.
  #openKeys(): KeyRoutes | string {
    const { ops, api, store, role } = this.#config
    if (ops.token === '') {
      return 'keys are managed here once ops.token is set; priorbook-server keys does so too'
    }
    if (isDatabase(store) && role === 'capture') {
      return 'keys of a shared tape are managed on its API nodes'
    }
    const log = this.#log
    const desk = new KeyDesk({ dataPath: this.#data.path, plansFile: api.plans, log })
    return new KeyRoutes({ desk, token: ops.token, log })
  }

  // Only one service records into a folder; others may serve it beside that one.
  #note(url: string, health: string): void {
    if (!this.#isRecording) return
    const metrics = this.#metrics === undefined ? {} : { metrics: this.#metrics }
    noteRunning(this.#data, { url: `${url}/`, health, ...metrics })
    this.#closers.push(async () => forgetRunning(this.#data))
  }

  /**
   * Records or serves until the service is stopped; throws when the API could not start. Returns false when
   * it must be opened again: another recorder took over, or the copy of a shared tape is too old.
   */
  async run(): Promise<boolean> {
    const { signal } = this.#stop
    const sharing = this.#share(signal)
    // It is awaited below; where it fails, the service stops first.
    sharing.catch(() => undefined)
    const keeping = Promise.all([
      this.#keeper?.run(signal, this.#log),
      this.#scrubber?.run(signal, this.#log),
      this.#mover?.run(signal, this.#log),
      this.#survey?.run(signal),
      this.#signer?.run(signal, this.#log),
      this.#findJournals(signal),
      this.#pack(signal),
    ])
    await this.#record(signal)
    await keeping
    const isStopped = await sharing
    if (this.#failure !== undefined) throw this.#failure.error
    this.#log.info({}, isStopped ? 'stopped' : 'starts again')
    return isStopped
  }

  // The journal and the tape of this folder, by what is set.
  async #pack(signal: AbortSignal): Promise<void> {
    const { journal, tape } = this.#config
    const ageMicros = parseAmount(tape.packAfter)
    const store = this.#packed
    const order = {
      journalDir: this.#isRecording && journal.pack === 'on' ? this.#data.journal : undefined,
      tape:
        store === undefined || ageMicros === undefined || tape.pack === 'off'
          ? undefined
          : { file: this.#data.tape, ageMicros },
    }
    if (order.journalDir === undefined && order.tape === undefined) return
    const replace = async (made: MadePack): Promise<boolean> =>
      store === undefined ? false : store.replaceByPack(made)
    await runPacker(order, replace, signal, this.#log)
  }

  // A node has no journal of its own.
  async #findJournals(signal: AbortSignal): Promise<void> {
    const { address } = this.#config.cold
    if (this.#member === undefined || this.#isRecording || address === '') return
    await findAwayRegularly(this.#data.journal, address, signal, this.#log)
  }

  async #record(signal: AbortSignal): Promise<void> {
    if (this.#standby === undefined) {
      return this.#recorder === undefined ? untilAborted(signal) : this.#recorder.run(signal)
    }
    // It runs already. Its end before the service's is a failure.
    await Promise.race([untilAborted(signal), this.#standby.running])
    await this.#standby.stop()
  }

  // Sends or follows; ends the service where it cannot go on with this copy.
  async #share(signal: AbortSignal): Promise<boolean> {
    const member = this.#member
    if (member === undefined) return true
    try {
      if (!this.#isRecording) return await this.#followShared(member, signal)
      await member.send(signal)
      return true
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'not_writer') throw error
      this.#log.error({ error: error.message }, 'this recorder is not the writer any more')
      return false
    } finally {
      this.#stop.abort()
    }
  }

  async #followShared(member: Member, signal: AbortSignal): Promise<boolean> {
    const stop = new AbortController()
    const sharing = this.#access!.run(AbortSignal.any([signal, stop.signal]))
    try {
      return await member.follow(signal)
    } finally {
      stop.abort()
      await sharing
    }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    for (const close of this.#closers.toReversed()) await close()
  }

  async #startEmulator(): Promise<Emulated> {
    const emulated = await startEmulated(this.#config.emulator)
    this.#closers.push(() => emulated.stop())
    void emulated.ended.then(() => {
      if (this.#stop.signal.aborted) return
      this.#log.error({}, 'the emulator ended by itself')
      this.#stop.abort()
    })
    return emulated
  }

  // Undefined where the service was stopped while it stood by.
  async #openStore() {
    const data = this.#data
    if (this.#member !== undefined) return this.#openShared(this.#member)
    if (this.#filesFolder !== undefined) {
      const onRefused = (fields: object, message: string): void => this.#log.warn(fields, message)
      this.#hosted = await openHosted(this.#filesFolder, data, onRefused)
    }
    const isReadOnly = this.#isRecording ? {} : { readOnly: true }
    const store = this.#hosted?.store ?? this.#openTape(isReadOnly)
    this.#closers.push(() => store.close())
    if (!this.#isRecording && this.#hosted === undefined) await this.#warnOfUnapplied(store)
    return store
  }

  async #openShared(member: Member): Promise<Store | undefined> {
    this.#closers.push(() => member.close())
    if (!this.#isRecording) {
      await this.#shareKeys()
      await member.openCopy(this.#stop.signal)
      if (this.#stop.signal.aborted) return undefined
      const store = this.#openTape({ readOnly: true })
      this.#closers.push(() => store.close())
      return store
    }
    const { signal } = this.#stop
    this.#closers.push(() => this.#endStandby())
    const written = await member.becomeWriter(signal, this.#tapeOptions(), () => this.#standBy())
    if (written === undefined) return undefined
    const { store, isNew } = written
    this.#closers.push(
      () => store.close(),
      () => member.finish(),
      // It may go on in this store.
      () => this.#endStandby(),
    )
    this.#keep(store)
    if (isNew) await skipJournal(store, this.#data, this.#config.recorder)
    await this.#takeOver(store, isNew)
    await member.noteWriter(store)
    return store
  }

  // Records beside the writer; returns the venues with which that would go on without a gap. Where it fails, it
  // is tried again.
  async #standBy(): Promise<readonly VenueId[]> {
    if (this.#config.standby === 'wait') return []
    if (this.#standby?.hasFailed === true) await this.#endStandby()
    if (this.#standby !== undefined) return this.#standby.ready
    if (performance.now() - this.#triedMs < STANDBY_MS) return []
    this.#triedMs = performance.now()
    try {
      const parts = this.#recorderParts()
      this.#standby = await StandbyRecorder.open(this.#config, this.#data, parts)
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      this.#log.error({ error: detail }, 'this recorder stands by without recording')
    }
    return []
  }

  // The recorder that stood by goes on in the shared tape; where it cannot, an ordinary one begins.
  async #takeOver(store: Store, isNew: boolean): Promise<void> {
    const standby = this.#standby
    if (standby === undefined) {
      removeStandby(this.#data)
      return
    }
    if (isNew && !standby.hasFailed) {
      try {
        await standby.takeOver({ ...this.#journalParts(), store })
        return
      } catch (error) {
        const detail = error instanceof Error ? error.message : String(error)
        this.#log.error({ error: detail }, 'the takeover leaves a gap')
      }
    }
    await this.#endStandby()
    // What was copied before it failed is not derived without the rest.
    if (isNew) await skipJournal(store, this.#data, this.#config.recorder)
  }

  async #endStandby(): Promise<void> {
    const standby = this.#standby
    this.#standby = undefined
    await standby?.stop()
  }

  #journalParts(): Pick<TakeoverTarget, 'journalDir' | 'segments'> {
    const segments = (venue: VenueId) => segmentLimits(this.#config, venue)
    return { journalDir: this.#data.journal, segments }
  }

  #recorderParts(): RecorderParts {
    const { recorder, upstream } = this.#config
    return {
      origin: upstream === 'emulator' ? 'emulator' : 'live',
      recorder,
      log: this.#log,
      connectors: toConnectors(this.#config, this.#emulated?.addresses),
      ...(this.#tracing === undefined ? {} : { tracing: this.#tracing }),
      ...(this.#member === undefined ? {} : { successors: () => this.#member!.successors() }),
    }
  }

  async #shareKeys(): Promise<void> {
    const { SharedAccess } = await import('../cluster/shared-access.ts')
    this.#access = new SharedAccess(this.#config.store, this.#data.path, this.#log)
    this.#closers.push(() => this.#access!.close())
    try {
      await this.#access.prepare()
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'store_unavailable') throw error
      this.#log.error({ error: error.message }, 'keys are not shared')
    }
  }

  #tapeOptions() {
    return { coldCacheBytes: this.#config.cold.cacheMb * 1e6, onUpgrade: tellUpgrade() }
  }

  #openTape(isReadOnly: { readOnly?: boolean }): EmbeddedStore {
    const file = this.#data.tape
    const store = openEmbeddedStore({ file, ...this.#tapeOptions(), ...isReadOnly })
    if (this.#isRecording) this.#keep(store)
    return store
  }

  // What is done beside recording.
  #keep(store: EmbeddedStore): void {
    const journalDir = this.#data.journal
    this.#keeper = new Keeper({ store, journalDir, config: this.#config, restMs: 5 })
    this.#scrubber = new Scrubber(store)
    this.#mover = new ColdMover({ store, journalDir, config: this.#config.cold, restMs: 5 })
    this.#signer = this.#openSigner(store)
    this.#packed = store
    const tapeFile = this.#data.tape
    this.#survey = new ByteSurvey({ store, journalDir, tapeFile, share: SURVEY_SHARE })
  }

  // Roots that cannot be signed must not stop the recording.
  #openSigner(store: EmbeddedStore): ProofSigner | undefined {
    const { delayMs, age } = this.#config.proofs
    const ageMicros = parseAmount(age)
    try {
      const folder = this.#data.path
      const signer = new ProofSigner({ store, folder, delayMs, ageMicros, restMs: 5 })
      this.#closers.push(async () => signer.close())
      if (signer.isKeyChanged) {
        const key = signer.publicKey
        this.#log.warn({ key }, 'roots are signed with another key from now on')
      }
      return signer
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      this.#log.error({ error: detail }, 'the roots of days are not signed')
      return undefined
    }
  }

  // Only a recorder applies what the tape lacks, such as after its log was cut.
  async #warnOfUnapplied(store: StoreReader): Promise<void> {
    for (const { venue, applied, pending, missing } of await readJournalEnds(store, this.#data)) {
      const fields = { venue, applied, pending, missing }
      if (pending > 0) this.#log.warn(fields, 'the tape lacks the newest records of the journal')
      if (missing > 0) this.#log.warn(fields, 'the journal lacks records that the tape has')
    }
  }

  #firstLine(): string {
    if (this.#hosted !== undefined) {
      return `Priorbook ${hostedLine(this.#hosted.report)}: ${this.#hosted.folder}`
    }
    const what = this.#isRecording ? `records ${this.#config.upstream}` : 'does not record'
    return `Priorbook ${what}: ${this.#data.path}`
  }

  // Recording does not wait for the API; an API that cannot start stops the service.
  #startApi(): void {
    const api = serveApi({
      config: this.#config,
      data: this.#data,
      isRecording: this.#isRecording,
      ...(this.#hosted === undefined ? {} : { hosted: this.#hosted }),
      status: () => this.#recorder?.status(),
      logFile: this.#logFile,
      onTrouble: (fields, message) => this.#log.error(fields, message),
      onDamage: (ref) => this.#scrubber?.ask(ref),
    })
    api.then(
      (started) => {
        this.#api = started
        this.#note(started.url, `${started.url}/v3/health`)
      },
      (error: unknown) => {
        this.#failure = { error }
        this.#stop.abort()
      },
    )
    this.#closers.push(() =>
      api.then(
        (started) => started.stop(),
        () => undefined,
      ),
    )
  }
}

// The client of the database is loaded only where there is one: it takes 10 MB.
async function openMember(config: Config, data: DataFolder, log: Logger): Promise<Member> {
  const { Member } = await import('../cluster/member.ts')
  const { Nudge } = await import('../cluster/nudge.ts')
  const onTrouble = (why: string): void => log.warn({ why }, 'commits come by the database alone')
  const nudge = config.redis === '' ? undefined : new Nudge(config.redis, onTrouble)
  return new Member(config.store, data, config.recorder, log, nudge)
}

// The default port may be taken by another service on the same machine: the next free one will do then.
async function openOps(
  listen: Config['ops'],
  sources: OpsSources,
): ReturnType<typeof openOpsServer> {
  for (let port = listen.port; ; port++) {
    try {
      return await openOpsServer({ ...listen, port }, sources)
    } catch (error) {
      const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
      const mayMove = isDefaultPort('ops.port', listen.port) && port < listen.port + MAX_OTHER_PORTS
      if (code !== 'EADDRINUSE' || !mayMove) throw error
    }
  }
}

function createLog(config: Config, file: string | undefined): Logger {
  const options = {
    level: config.log.level,
    // Credentials must never reach a log.
    redact: ['*.apiKey', '*.apiSecret', '*.privateKey', '*.signature', '*.token', 'url.search'],
  }
  return pino(options, pino.destination({ dest: file ?? 2, sync: true }))
}

function showLine(status: () => ServiceStatus, isTerminal: boolean): { end(): void } {
  let before = 0
  let beforeAt = performance.now()
  const print = (): void => {
    const state = status()
    const venues = Object.values(state.recorder?.venues ?? {})
    const messages = venues.reduce((sum, venue) => sum + venue.messages, 0)
    const now = performance.now()
    const perSecond = ((messages - before) * 1000) / (now - beforeAt)
    before = messages
    beforeAt = now
    const width = isTerminal ? process.stdout.columns - 1 : Infinity
    const line = toStatusLine(state, perSecond, width)
    if (isTerminal) process.stdout.write(`\r\u001b[2K${line}`)
    else console.log(line)
  }
  const timer = setInterval(print, isTerminal ? LINE_MS : PIPED_LINE_MS)
  return {
    end() {
      clearInterval(timer)
      print()
      if (isTerminal) process.stdout.write('\n')
    },
  }
}

// The sections of the venues that have rules; other settings stay what they were at the start.
function selectionsOf(config: Config): Partial<Config> {
  const selecting = VENUE_IDS.filter((venue) => definitionOf(venue).toSelection !== undefined)
  return Object.fromEntries(selecting.map((venue) => [venue, config[venue]]))
}
