import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { ALERTS_FILE } from '../alerts/alert-store.ts'
import type { AlertOptions } from '../alerts/alert-worker.ts'
import { openAccess } from '../api/auth/access.ts'
import { readOperatorFile } from '../api/contracts/operator-file.ts'
import { readCertificate, type CertificateFiles } from '../api/certificate.ts'
import { createClientAddress } from '../lib/client-address.ts'
import { toNetworks } from '../lib/networks.ts'
import { CONTROL_FILE, openControl } from '../api/auth/control.ts'
import { healControl, keepControlCopy } from '../api/auth/heal-control.ts'
import { KeyRing } from '../api/auth/keys.ts'
import type { RecorderPulse } from '../lib/pulse.ts'
import type { Config } from '../config/index.ts'
import type { DataFolder } from '../lib/data-folder.ts'
import type { RecorderStatus } from '../recorder/recorder.ts'
import type { InstrumentRef } from '../store/store.ts'
import type { WorkerOptions } from './api-worker.ts'
import { startApiWorkers, type ApiWorkers } from './api-workers.ts'
import type { HostedFolder } from './hosted-folder.ts'
import { openSampleTape } from './sample-store.ts'
import { isDefaultPort } from './command-config.ts'

const PULSE_MS = 1000
const DEMO_KEY_PLAN = 'desk'

/** Starts the API over a data folder. */
export async function serveApi(options: {
  readonly config: Config
  readonly data: DataFolder
  readonly isRecording: boolean
  /** Downloaded files that are served instead of the tape of the folder. */
  readonly hosted?: HostedFolder
  readonly status: () => RecorderStatus | undefined
  readonly logFile: string | undefined
  readonly onTrouble: (fields: object, message: string) => void
  readonly onDamage: (ref: InstrumentRef) => void
}): Promise<Pick<ApiWorkers, 'tally' | 'stop' | 'url'>> {
  const { config, data, isRecording, hosted, logFile, onTrouble, onDamage } = options
  const isEmulated = isRecording && config.upstream === 'emulator'
  const demoTape = isEmulated ? undefined : await openSampleTape(data.path)
  const trouble = (why: string): void => onTrouble({ why }, 'control files')
  healControl(data.path, Date.now(), trouble)
  refuseWrong(config)
  const tls = certificateOf(config.api)
  const startKey = isEmulated ? demoKeyOf(data) : undefined
  const workers = await startApiWorkers(
    {
      dataPath: data.path,
      tape: hosted?.index ?? data.tape,
      ...(hosted === undefined ? {} : { filesFolder: hosted.folder }),
      journal: data.journal,
      ...settingsOf(config),
      ...(config.store === '' ? { alerts: alertsOf(config, data) } : {}),
      ...(tls === undefined ? {} : { tls }),
      ...(logFile === undefined ? {} : { logFile }),
      ...(isRecording ? { isEmulated } : {}),
      ...(hosted === undefined ? {} : { isEmulated: hosted.report.isEmulated }),
      ...(demoTape === undefined ? {} : { demoTape }),
      ...withStartKey(startKey, config.api),
    },
    {
      count: config.api.workers === 0 ? workersFor(isRecording) : config.api.workers,
      mayMove: isDefaultPort('api.port', config.api.port),
      onTrouble,
      onDamage,
    },
  )
  const copy = keepControlCopy(data.path, trouble)
  const sendPulse = createPulse(workers)
  const onHangUp = (): void => workers.reload()
  if (tls !== undefined || config.contracts.file !== '') process.on('SIGHUP', onHangUp)
  const timer = setInterval(() => sendPulse(options.status()), PULSE_MS)
  for (const line of firstLines(workers.url, data, startKey)) console.log(line)
  return {
    url: workers.url,
    tally: () => workers.tally(),
    async stop() {
      clearInterval(timer)
      process.off('SIGHUP', onHangUp)
      copy.stop()
      await workers.stop()
    },
  }
}

// What workers take from the configuration as it is.
function settingsOf({ api, cold, contracts, redis, log, tracing }: Config) {
  return {
    host: api.host,
    port: api.port,
    cacheBytes: api.cacheMb * 1e6,
    coldCacheBytes: cold.cacheMb * 1e6,
    tempBytes: api.tempMb * 1e6,
    corsOrigin: api.corsOrigin,
    plansFile: api.plans,
    contractsFile: contracts.file,
    redis,
    trustProxy: api.trustProxy,
    ...signupOf(api),
    isStreamCompressed: api.streamDeflate === 'on',
    logLevel: log.level,
    isTracing: tracing.export !== 'off',
  }
}

// Reports wrong settings before any worker starts.
function refuseWrong({ api, alerts, contracts }: Config): void {
  createClientAddress(api.trustProxy)
  toNetworks(alerts.allowNetworks, 'alerts.allowNetworks')
  if (contracts.file !== '') readOperatorFile(contracts.file)
}

function signupOf(api: Config['api']): Pick<WorkerOptions, 'signup'> {
  const { signup, signupBits: bits, signupPerMinute: perMinute, signupKeys: keys } = api
  return signup === 'off' ? {} : { signup: { bits, perMinute, keys } }
}

function alertsOf({ alerts }: Config, data: DataFolder): AlertOptions {
  return { file: join(data.path, ALERTS_FILE), ...alerts }
}

function certificateOf({
  tlsCert: cert,
  tlsKey: key,
}: Config['api']): CertificateFiles | undefined {
  if (cert === '' && key === '') return undefined
  if (cert === '' || key === '') {
    throw new PriorbookError('invalid_config', 'api.tlsCert and api.tlsKey go together')
  }
  readCertificate({ cert, key })
  return { cert, key }
}

// One core is left to the recorder.
function workersFor(isRecording: boolean): number {
  return Math.max(1, availableParallelism() - (isRecording ? 1 : 0))
}

// Rates are averages since the previous pulse.
function createPulse(workers: ApiWorkers): (status: RecorderStatus | undefined) => void {
  const before = new Map<string, { readonly messages: number; readonly at: number }>()
  return (status) => {
    if (status === undefined) return
    const venues: Record<string, RecorderPulse['venues'][string]> = {}
    const at = performance.now()
    for (const [venue, { connector, books, counts, messages }] of Object.entries(status.venues)) {
      const last = before.get(venue) ?? { messages, at: at - PULSE_MS }
      before.set(venue, { messages, at })
      const { observations, trades, samples, gaps, quarantined } = counts
      venues[venue] = {
        state: connector.state,
        detail: connector.detail,
        booksOpen: books.open,
        capture: {
          markets: connector.markets,
          books: books.tracks,
          sockets: connector.sockets.filter(({ connected }) => connected).length,
          messages,
          messagesPerSecond: ((messages - last.messages) * 1000) / Math.max(1, at - last.at),
          observations,
          trades,
          samples,
          gaps,
          quarantined,
          ...(connector.quota === undefined ? {} : { quota: connector.quota }),
        },
      }
    }
    workers.pulse({
      venues,
      lagP50Ms: status.lag.p50Ms,
      lagP99Ms: status.lag.p99Ms,
      isDiskFull: status.diskFull,
    })
  }
}

// The key of emulated data: created once, shown at every start.
function demoKeyOf(data: DataFolder): string {
  const access = openAccess(data.path)
  try {
    return access.demoKey(DEMO_KEY_PLAN)
  } finally {
    access.close()
  }
}

// Commands that work as soon as they are printed.
function firstLines(url: string, data: DataFolder, key: string | undefined): string[] {
  const places = ['', `  explorer ${url}/`, `  docs     ${url}/docs`]
  const open = `  curl '${url}/v3/demo/venueb/markets?limit=2'`
  if (key !== undefined) {
    const header = `-H 'Authorization: Bearer ${key}'`
    return [
      ...places,
      `  key for these emulated data: ${key}`,
      '',
      `  curl ${header} '${url}/v3/markets?limit=3'`,
      `  curl ${header} '${url}/v3/status'`,
      open,
      '',
    ]
  }
  const control = openControl(join(data.path, CONTROL_FILE))
  const hasKeys = new KeyRing(control, () => 0 as never).list().length > 0
  control.close()
  const make = `priorbook-server keys create --plan desk --data ${data.path}`
  return [...places, ...(hasKeys ? [] : [`  no keys yet: ${make}`]), '', open, '']
}

// Behind a proxy every request comes from this machine.
function withStartKey(
  startKey: string | undefined,
  { startKey: mode, trustProxy }: Config['api'],
): { readonly startKey?: string } {
  return startKey === undefined || mode === 'off' || trustProxy.length > 0 ? {} : { startKey }
}
