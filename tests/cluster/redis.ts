import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'node:net'
import { freePort } from '../service-process.ts'
import { installPackages } from './debian.ts'

/** A Redis server of this machine, without files. */
export type RedisServer = {
  readonly address: string
  kill(): Promise<void>
  /** Starts it again, at the same address. */
  start(): Promise<void>
  /** Stops it from answering, and lets it go on. */
  freeze(): void
  thaw(): void
}

const PATIENCE_MS = 20_000

/** Starts a server. */
export async function startRedis(): Promise<RedisServer> {
  installRedis()
  const port = await freePort()
  let running: ChildProcess | undefined
  const server: RedisServer = {
    address: `redis://127.0.0.1:${port}`,
    async kill() {
      const child = running
      running = undefined
      if (child === undefined) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
    async start() {
      const args = [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
      ]
      running = spawn('redis-server', args, { stdio: 'ignore', cwd: '/' })
      await untilOpen(port)
    },
    freeze: () => void running?.kill('SIGSTOP'),
    thaw: () => void running?.kill('SIGCONT'),
  }
  await server.start()
  return server
}

/** Installs Redis from Debian where it is missing. */
export function installRedis(): void {
  installPackages(['redis-server'], () => spawnSync('redis-server', ['--version']).status === 0)
}

async function untilOpen(port: number): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isOpen) return
    if (performance.now() > until) throw new Error('Redis does not start')
    await pause(50)
  }
}
