import { fork, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { RecorderPulse } from '../lib/pulse.ts'
import { addTallies, endedTally, NO_TALLY, type ApiTally } from '../lib/api-tally.ts'
import type { WorkerNews, WorkerOrder, WorkerWord } from './api-worker.ts'

/** The processes that answer requests. */
export interface ApiWorkers {
  readonly url: string
  readonly count: number
  /** What they have done, those included that have ended, and what they do now. */
  tally(): ApiTally
  /** Tells them how the recorder is doing. */
  pulse(pulse: RecorderPulse): void
  /** Lets running requests finish, then ends them. */
  stop(): Promise<void>
}

const ENTRY = fileURLToPath(new URL('./api-worker.ts', import.meta.url))
const KILL_MS = 15_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
const STEADY_MS = 60_000
const OTHER_PORTS = 20

/**
 * Starts processes that share one port. They are processes and not threads so that nothing that happens
 * to a reader, memory included, reaches the recorder. Ones that die are started again.
 */
export async function startApiWorkers(
  order: Omit<WorkerOrder, 'reusePort'>,
  options: {
    readonly count: number
    /** Takes one of the next ports when the port is taken. */
    readonly mayMove: boolean
    readonly onTrouble: (fields: object, message: string) => void
  },
): Promise<ApiWorkers> {
  // Elsewhere the kernel does not spread connections over processes.
  const canShare = process.platform === 'linux' || process.platform === 'freebsd'
  const count = canShare ? options.count : 1
  let port = await findPort(order.host, order.port, options.mayMove)
  let isStopping = false
  let last: RecorderPulse | undefined
  const children = new Map<ChildProcess, ApiTally>()
  let past = NO_TALLY
  const endings = new Set<Promise<void>>()

  const start = async (): Promise<void> => {
    const child = fork(ENTRY, [], { env: withoutVenues(process.env), serialization: 'json' })
    children.set(child, NO_TALLY)
    const tell = (news: WorkerNews): void => void (child.connected && child.send(news))
    const { promise: ending, resolve: ended } = Promise.withResolvers<void>()
    endings.add(ending)
    child.once('exit', () => {
      past = addTallies(past, endedTally(children.get(child)!))
      children.delete(child)
      endings.delete(ending)
      ended()
    })
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => {
        reject(new PriorbookError('store_unavailable', `a process of the API ended with ${code}`))
      })
      child.on('message', (word: WorkerWord) => {
        switch (word.kind) {
          case 'ready':
            tell({ kind: 'order', order: { ...order, port, reusePort: canShare } })
            break
          case 'listening':
            ;({ port } = word)
            if (last !== undefined) tell({ kind: 'pulse', pulse: last })
            resolve()
            break
          case 'tally':
            children.set(child, word.tally)
            break
          case 'failed':
            reject(toError(word))
            break
        }
      })
    })
    const started = performance.now()
    child.once('exit', (code, signal) => {
      if (!isStopping) restart(code, signal, performance.now() - started)
    })
  }

  let pauseMs = FIRST_PAUSE_MS
  const restart = (code: number | null, signal: string | null, livedMs: number): void => {
    pauseMs = livedMs > STEADY_MS ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2)
    setTimeout(() => {
      // A signal to the whole group may reach the workers first.
      if (isStopping) return
      options.onTrouble({ code, signal, pauseMs }, 'a process of the API ended; another one starts')
      start().catch((error: unknown) => {
        if (!isStopping) restart(null, error instanceof Error ? error.message : null, 0)
      })
    }, pauseMs).unref()
  }

  const stop = async (): Promise<void> => {
    isStopping = true
    for (const child of children.keys()) if (child.connected) child.send({ kind: 'stop' })
    const timer = setTimeout(() => {
      for (const child of children.keys()) child.kill('SIGKILL')
    }, KILL_MS)
    await Promise.all(endings)
    clearTimeout(timer)
  }

  try {
    // The first one finds the port, the others join it.
    await start()
    await Promise.all(Array.from({ length: count - 1 }, start))
  } catch (error) {
    await stop()
    throw error
  }
  const host = order.host.includes(':') ? `[${order.host}]` : order.host
  return {
    url: `http://${host}:${port}`,
    count,
    tally: () => [...children.values()].reduce(addTallies, past),
    pulse(pulse) {
      last = pulse
      const news: WorkerNews = { kind: 'pulse', pulse }
      for (const child of children.keys()) if (child.connected) child.send(news)
    },
    stop,
  }
}

function toError({ code, message }: Extract<WorkerWord, { kind: 'failed' }>): PriorbookError {
  const known = ['store_unavailable', 'newer_schema', 'corrupt_database', 'invalid_config'] as const
  const same = known.find((one) => one === code)
  return new PriorbookError(same ?? 'store_unavailable', message)
}

// Processes that share a port would share it with a stranger who shares it too: it must be free first.
async function findPort(host: string, port: number, mayMove: boolean): Promise<number> {
  for (let other = port; ; other++) {
    try {
      await tryPort(host, other)
      return other
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && mayMove && other < port + OTHER_PORTS) continue
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

// Credentials of venues are for the recorder alone.
function withoutVenues(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('PRIORBOOK_VENUE')),
  )
}
