import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServe, type ServeProcess } from '../packages/service/src/commands/serve.testing.ts'

const BIN = join(import.meta.dirname, '../packages/service/bin/priorbook-server.mjs')
const PATIENCE_MS = 60_000

// Visitors see demonstration data until a test gives them a key.
const WITHOUT_KEY = { PRIORBOOK_API_START_KEY: 'off' }

/** A service in a process of its own, as `npm start` runs it; it can be stopped and started again. */
export type ServiceProcess = {
  readonly url: string
  readonly data: string
  start(): Promise<void>
  stop(): Promise<void>
  /** Ends it without a word. */
  kill(): Promise<void>
  /** What it printed since its last start. */
  printed(): string
  /** The number of its first process; it must run. */
  pid(): number
  /** A new key of a plan. */
  keyOf(plan: string, ...more: readonly string[]): string
  destroy(): Promise<void>
}

/** Prepares a service over an empty folder; `prepare` may fill it before the first start. */
export async function createService(
  args: readonly string[],
  prepare?: (data: string) => void,
  env: Readonly<Record<string, string>> = WITHOUT_KEY,
): Promise<ServiceProcess> {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-service-'))
  const data = join(home, 'data')
  prepare?.(data)
  const port = await freePort()
  const opsPort = await freePort()
  const url = `http://127.0.0.1:${port}`
  let running: ServeProcess | undefined
  const service: ServiceProcess = {
    url,
    data,
    async start() {
      const ports = ['--port', `${port}`, '--ops-port', `${opsPort}`]
      running = await startServe(home, ['--data', data, ...ports, ...args], env)
      await untilAnswers(running, `${url}/v3/health`)
    },
    async stop() {
      await running?.end()
      running = undefined
    },
    async kill() {
      await running?.end('SIGKILL')
      running = undefined
    },
    printed: () => running?.printed() ?? '',
    pid: () => running!.child.pid!,
    keyOf: (plan, ...more) =>
      /pb_live_\w+/.exec(run('keys', 'create', '--plan', plan, '--data', data, ...more))![0],
    async destroy() {
      await service.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
  return service
}

/** Runs a command of the service to its end. */
export function run(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  return stdout
}

async function untilAnswers(service: ServeProcess, url: string): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const { exitCode } = service.child
    if (exitCode !== null) {
      throw new Error(`the service ended with ${exitCode} as it started:\n${service.printed()}`)
    }
    try {
      if ((await fetch(url)).ok) return
    } catch (error) {
      if (Date.now() > until) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

// Systems give ports above these to outgoing connections and to servers that ask for any port. They never give one of
// these by themselves, so it stays free between two starts of a server.
const FIRST_PORT = 20_000
const LAST_PORT = 32_000
const given = new Set<number>()

/** A port that is free now, and that no program takes by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
