import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino, type Logger } from 'pino'
import { PriorbookError } from '@priorbook/sdk/domain'
import { loadConfig, type Config } from '../config/index.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { untilAborted } from '../lib/wait.ts'
import { createDiskForecast } from '../ops/disk-forecast.ts'
import type { ApiTally } from '../lib/api-tally.ts'
import { createMetrics } from '../ops/metrics.ts'
import { openOpsServer } from '../ops/server.ts'
import { toStatusLine, type ServiceStatus } from '../ops/status.ts'
import { openRecorder, type Recorder } from '../recorder/recorder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { parseArguments, type Command } from './command.ts'
import { toConnectors } from './connectors.ts'
import { startEmulated, type Emulated } from './emulated.ts'
import { folderOf, hostedLine, openHosted } from './hosted-folder.ts'
import { serveApi } from './serve-api.ts'
import { isUsualPort } from './usual-port.ts'

const CONFIG_FILE = 'priorbook.json'
const LINE_MS = 1000
const QUIET_LINE_MS = 10_000
/** Options of the command line by the key of the configuration that they set. */
const OPTIONS = new Map([
  ['upstream', 'upstream'],
  ['role', 'role'],
  ['store', 'store'],
  ['recorder', 'recorder'],
  ['port', 'api.port'],
  ['workers', 'api.workers'],
  ['cors-origin', 'api.corsOrigin'],
  ['ops-port', 'ops.port'],
  ['seed', 'emulator.seed'],
  ['speed', 'emulator.speed'],
])

/** `priorbook-server serve`, which `npm start` runs. */
export const serveCommand: Command = {
  name: 'serve',
  usage:
    'serve [--upstream emulator|live|none] [--role capture|api|all] [--store files:DIR] [--port N] [--workers N] [--cors-origin ORIGIN] [--config FILE] [--recorder ID] [--ops-port N] [--speed N] [--seed N]',
  about:
    'Records the venues (or their emulator), answers the interface, and shows what it does, until it is stopped.',
  examples: [
    'npm start',
    'priorbook-server serve --upstream live --config priorbook.json',
    'priorbook-server serve --upstream none --data data --port 8790',
    'priorbook-server serve --upstream emulator --speed 20 --data /tmp/fast',
    'priorbook-server serve --store files:downloads --data data',
  ],
  async run(args) {
    const { texts, data: named } = parseArguments(args, { texts: ['config', ...OPTIONS.keys()] })
    const given = new Map<string, string>()
    for (const [option, key] of OPTIONS) {
      const text = texts.get(option)
      if (text !== undefined) given.set(key, text)
    }
    const file = texts.get('config') ?? (existsSync(CONFIG_FILE) ? CONFIG_FILE : undefined)
    const env = process.env
    const config = loadConfig({ env, given, ...(file === undefined ? {} : { file }) })
    const isDataGiven = args.some((arg) => arg === '--data' || arg.startsWith('--data='))
    return serve(config, isDataGiven ? named : toDataFolder(dataOf(config)))
  },
}

// Emulated data never shares a folder with real data.
function dataOf(config: Config): string {
  const records = config.store === '' && config.upstream === 'emulator'
  return records && config.data === 'data' ? 'data/emulator' : config.data
}

async function serve(config: Config, data: DataFolder): Promise<number> {
  mkdirSync(data.path, { recursive: true })
  const isTerminal = process.stdout.isTTY
  const logFile = isTerminal ? join(data.path, 'priorbook.log') : undefined
  const log = createLog(config, logFile)
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGTERM', onSignal)
  process.once('SIGINT', onSignal)
  // Whoever read our lines is gone; the recorder records on.
  const onClosedPipe = (): void => undefined
  process.stdout.on('error', onClosedPipe)
  const folder = folderOf(config.store)
  if (folder !== undefined && config.role === 'capture') {
    throw new PriorbookError('invalid_config', 'role capture records, and files cannot be recorded')
  }
  const isRecording = folder === undefined && config.role !== 'api' && config.upstream !== 'none'
  const closers: (() => Promise<void>)[] = []
  try {
    let failure: { readonly error: unknown } | undefined
    let emulated: Emulated | undefined
    if (isRecording && config.upstream === 'emulator') {
      emulated = await startEmulated(config.emulator)
      closers.push(() => emulated!.stop())
      void emulated.ended.then(() => {
        if (stop.signal.aborted) return
        log.error({}, 'the emulator ended by itself')
        stop.abort()
      })
    }
    const hosted =
      folder === undefined
        ? undefined
        : await openHosted(folder, data, (fields, message) => log.warn(fields, message))
    const store =
      hosted?.store ??
      openEmbeddedStore({ file: data.tape, ...(isRecording ? {} : { readOnly: true }) })
    closers.push(() => store.close())
    let recorder: Recorder | undefined
    if (isRecording) {
      recorder = await openRecorder({
        store,
        journalDir: data.journal,
        origin: config.upstream === 'emulator' ? 'emulator' : 'live',
        recorder: config.recorder,
        log,
        connectors: toConnectors(config, emulated?.addresses),
      })
    }
    const forecast = createDiskForecast(data.path)
    let tally: (() => ApiTally) | undefined
    const status = (): ServiceStatus => ({
      role: config.role,
      upstream: config.upstream,
      disk: forecast(),
      ...(hosted === undefined ? {} : { files: hosted.report }),
      ...(recorder === undefined ? {} : { recorder: recorder.status() }),
      ...(tally === undefined ? {} : { api: tally() }),
    })
    const ops = await openOps(config.ops, status)
    closers.push(() => ops.close())
    const what = isRecording ? `records ${config.upstream}` : 'does not record'
    console.log(
      hosted === undefined
        ? `Priorbook ${what}: ${data.path}`
        : `Priorbook ${hostedLine(hosted.report)}: ${hosted.folder}`,
    )
    console.log(`status ${ops.url}/  metrics ${ops.url}/metrics`)
    log.info({ url: ops.url, data: data.path, upstream: config.upstream }, 'started')
    if (config.role !== 'capture') {
      const api = serveApi({
        config,
        data,
        isRecording,
        ...(hosted === undefined ? {} : { hosted }),
        status: () => recorder?.status(),
        logFile,
        onTrouble: (fields, message) => log.error(fields, message),
      })
      // A recorder records from its first second; whoever cannot serve stops all the same.
      api.then(
        (started) => (tally = () => started.tally()),
        (error: unknown) => {
          failure = { error }
          stop.abort()
        },
      )
      closers.push(() =>
        api.then(
          (started) => started.stop(),
          () => undefined,
        ),
      )
    }
    const line = showLine(status, isTerminal)
    try {
      await (recorder === undefined ? untilAborted(stop.signal) : recorder.run(stop.signal))
    } finally {
      line.end()
    }
    if (failure !== undefined) throw failure.error
    log.info({}, 'stopped')
    return 0
  } finally {
    stop.abort()
    for (const close of closers.toReversed()) await close()
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
    process.stdout.off('error', onClosedPipe)
  }
}

// Beside a service that runs already the usual port is taken.
async function openOps(
  listen: Config['ops'],
  status: () => ServiceStatus,
): ReturnType<typeof openOpsServer> {
  try {
    return await openOpsServer(listen, status, createMetrics(status))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause
    if (!isUsualPort('ops.port', listen.port)) {
      const where = `ops.port ${listen.host}:${listen.port}`
      throw new PriorbookError('invalid_config', `${where} is taken`, { cause })
    }
    return openOpsServer({ ...listen, port: 0 }, status, createMetrics(status))
  }
}

function createLog(config: Config, file: string | undefined): Logger {
  const options = {
    level: config.log.level,
    // Credentials never reach a log, whatever a field is called.
    redact: ['*.apiKey', '*.apiSecret', '*.privateKey', '*.signature', 'url.search'],
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
    const line = toStatusLine(state, perSecond)
    if (isTerminal) process.stdout.write(`\r\u001b[2K${line.slice(0, process.stdout.columns - 1)}`)
    else console.log(line)
  }
  const timer = setInterval(print, isTerminal ? LINE_MS : QUIET_LINE_MS)
  return {
    end() {
      clearInterval(timer)
      print()
      if (isTerminal) process.stdout.write('\n')
    },
  }
}
