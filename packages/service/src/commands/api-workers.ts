import { fork, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { PriorbookError } from '@priorbook/sdk/domain'
import { addTallies, endedTally, NO_TALLY, type ApiTally } from '../lib/api-tally.ts'
import type { RecorderPulse } from '../lib/pulse.ts'
import { RestartPause } from '../lib/restart-pause.ts'
import { sendToChild } from '../lib/send-to-child.ts'
import { siblingModule } from '../lib/sibling-module.ts'
import type { InstrumentRef } from '../store/store.ts'
import type { ParentMessage, WorkerMessage, WorkerOptions } from './api-worker.ts'

/** How workers are started. */
export type PoolOptions = {
  readonly count: number
  /** True where one of the next ports will do when the port is taken. */
  readonly mayMove: boolean
  readonly onTrouble: (fields: object, message: string) => void
  /** Called when a worker met a damaged chunk of an instrument. */
  readonly onDamage?: ((ref: InstrumentRef) => void) | undefined
}

// Bounds V8's young generation to two halves of 4 MB.
const YOUNG_GENERATION = '--max-semi-space-size=4'
// With a bound V8 collects when the heap has grown by about a half; without one, when it is four times as
// large. A worker needs 50 to 100 MB.
const OLD_GENERATION = `--max-old-space-size=${Math.min(1024, Math.floor(totalmem() / 4_000_000))}`
const ENTRY = siblingModule('api-worker', import.meta.url)
// How long a worker may take to finish its requests before it is killed.
const KILL_MS = 15_000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000
// Max ports after the wanted one that are tried.
export const MAX_OTHER_PORTS = 20

/** Starts worker processes that share one port. */
export async function startApiWorkers(
  options: Omit<WorkerOptions, 'reusePort'>,
  pool: PoolOptions,
): Promise<ApiWorkers> {
  const port = await findPort(options.host, options.port, pool.mayMove)
  const workers = new ApiWorkers({ ...options, port }, pool)
  await workers.start()
  return workers
}

/**
 * The processes that answer requests. They are processes and not threads so that nothing that happens to
 * them, such as running out of memory, reaches the recorder. A worker that dies is replaced.
 */
export class ApiWorkers {
  readonly count: number
  readonly #options: WorkerOptions
  readonly #onTrouble: PoolOptions['onTrouble']
  readonly #onDamage: PoolOptions['onDamage']
  readonly #children = new Map<ChildProcess, ApiTally>()
  readonly #exits = new Set<Promise<void>>()
  #port: number
  #endedTally = NO_TALLY
  #pulse: RecorderPulse | undefined
  readonly #pause = new RestartPause(MIN_PAUSE_MS, MAX_PAUSE_MS)
  #isStopping = false

  constructor(options: Omit<WorkerOptions, 'reusePort'>, pool: PoolOptions) {
    // Other systems do not spread the connections of a shared port over its processes.
    const canShare = process.platform === 'linux' || process.platform === 'freebsd'
    this.count = canShare ? pool.count : 1
    this.#options = { ...options, reusePort: canShare }
    this.#onTrouble = pool.onTrouble
    this.#onDamage = pool.onDamage
    this.#port = options.port
  }

  get url(): string {
    const { host, tls } = this.#options
    return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${this.#port}`
  }

  /** Starts all workers; when one fails, stops them and throws. */
  async start(): Promise<void> {
    try {
      // The first worker binds the port (which may be 0, for any), the others join it.
      await this.#startWorker()
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.#startWorker()))
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Totals of all workers since the start, and the present state of the running ones. */
  tally(): ApiTally {
    return [...this.#children.values()].reduce(addTallies, this.#endedTally)
  }

  /** Lets all workers read their certificate and the file of contracts again. */
  reload(): void {
    for (const child of this.#children.keys()) send(child, { kind: 'reload' })
  }

  /** Sends the state of the recorder to all workers. */
  pulse(pulse: RecorderPulse): void {
    this.#pulse = pulse
    for (const child of this.#children.keys()) send(child, { kind: 'pulse', pulse })
  }

  /** Lets running requests finish, then ends all workers. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const child of this.#children.keys()) send(child, { kind: 'stop' })
    const timer = setTimeout(() => {
      for (const child of this.#children.keys()) child.kill('SIGKILL')
    }, KILL_MS)
    await Promise.all(this.#exits)
    clearTimeout(timer)
  }

  async #startWorker(): Promise<void> {
    const child = fork(ENTRY, [], {
      env: withoutVenues(process.env),
      execArgv: [...process.execArgv, YOUNG_GENERATION, OLD_GENERATION],
      serialization: 'json',
    })
    this.#children.set(child, NO_TALLY)
    const { promise: exit, resolve: onExit } = Promise.withResolvers<void>()
    this.#exits.add(exit)
    child.once('exit', () => {
      this.#endedTally = addTallies(this.#endedTally, endedTally(this.#children.get(child)!))
      this.#children.delete(child)
      this.#exits.delete(exit)
      onExit()
    })
    await this.#untilListening(child)
    const started = performance.now()
    child.once('exit', (code, signal) => {
      if (!this.#isStopping) this.#restart({ code, signal }, performance.now() - started)
    })
  }

  #untilListening(child: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      child.once('exit', (code) => {
        reject(new PriorbookError('store_unavailable', `a worker of the API exited with ${code}`))
      })
      child.on('message', (message: WorkerMessage) => {
        switch (message.kind) {
          case 'ready':
            send(child, { kind: 'start', options: { ...this.#options, port: this.#port } })
            break
          case 'listening':
            this.#port = message.port
            if (this.#pulse !== undefined) send(child, { kind: 'pulse', pulse: this.#pulse })
            resolve()
            break
          case 'tally':
            this.#children.set(child, message.tally)
            break
          case 'damage':
            this.#onDamage?.(message.ref)
            break
          case 'failed':
            reject(toError(message))
            break
        }
      })
    })
  }

  #restart(why: object, livedMs: number): void {
    const pauseMs = this.#pause.after(livedMs)
    setTimeout(() => {
      // A signal to the process group may reach the workers before it reaches this process.
      if (this.#isStopping) return
      this.#onTrouble({ ...why, pauseMs }, 'a worker of the API exited; another one starts')
      this.#startWorker().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        if (!this.#isStopping) this.#restart({ reason }, 0)
      })
    }, pauseMs).unref()
  }
}

const send: (child: ChildProcess, message: ParentMessage) => void = sendToChild

function toError({ code, message }: Extract<WorkerMessage, { kind: 'failed' }>): PriorbookError {
  const known = ['store_unavailable', 'newer_schema', 'corrupt_database', 'invalid_config'] as const
  const same = known.find((one) => one === code)
  return new PriorbookError(same ?? 'store_unavailable', message)
}

// A shared port could be shared with a foreign process too, so it must be free before workers share it.
async function findPort(host: string, port: number, mayMove: boolean): Promise<number> {
  for (let other = port; ; other++) {
    try {
      await tryPort(host, other)
      return other
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && mayMove && other < port + MAX_OTHER_PORTS) continue
      const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${code})`
      throw new PriorbookError('invalid_config', `api.port ${host}:${other} ${why}`, { cause })
    }
  }
}

function tryPort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => server.close(() => resolve()))
  })
}

// Only the recorder needs the credentials of venues.
function withoutVenues(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('PRIORBOOK_VENUE')),
  )
}
