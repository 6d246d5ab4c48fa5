import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createService, run, type ServiceProcess } from '../service-process.ts'

// A market with 5,000 invented rows.
const SAMPLE = join(import.meta.dirname, '../../packages/service/sample')
const MARKET = 'KXSYNT15M-26AUG102130-30'
const PAGE = `/v3/venueb/${MARKET}/snapshots?limit=1000`
const CLIENTS = 1000
const MAX_MB = 1000
// By default there are as many processes as cores, and each takes 100 MB before its first request.
const ENV = { PRIORBOOK_API_START_KEY: 'off', PRIORBOOK_API_WORKERS: '2' }

let service: ServiceProcess
let key: string

beforeAll(async () => {
  const args = ['--role', 'api', '--upstream', 'none']
  const prepare = (data: string): void => {
    run('import', 'venueb', join(SAMPLE, MARKET), '--data', data)
  }
  service = await createService(args, prepare, ENV)
  await service.start()
  key = service.keyOf('unlimited')
})
afterAll(() => service?.destroy())

/** The most memory that any process of a family had so far, in MB, added up. */
function peakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const own = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
  const threads = readdirSync(`/proc/${pid}/task`)
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return children.reduce((sum, child) => sum + peakMb(Number(child)), own)
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
    socket.pause()
  })
}

/** Reads an answer to its end; its head and the bytes of its body. */
async function read(socket: Socket): Promise<{ readonly head: string; readonly bytes: number }> {
  const pieces: Buffer[] = []
  for await (const piece of socket) pieces.push(piece as Buffer)
  const all = Buffer.concat(pieces)
  const end = all.indexOf('\r\n\r\n')
  return { head: all.subarray(0, end).toString('latin1'), bytes: all.length - end - 4 }
}

it('keeps its memory while a thousand clients ask for large pages and read late', async () => {
  const port = Number(new URL(service.url).port)
  const sockets: Socket[] = []
  for (let at = 0; at < CLIENTS; at++) sockets.push(await open(port))
  const idle = peakMb(service.pid())
  const asked = `GET ${PAGE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`
  for (const socket of sockets) socket.write(asked)
  // The clients read nothing for two seconds; meanwhile the server answers others.
  await pause(2_000)
  expect((await fetch(`${service.url}/v3/health`)).status).toBe(200)
  const lengths = new Set<string>()
  let megabytes = 0
  for (const socket of sockets) {
    const { head, bytes } = await read(socket)
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    const told = /content-length: (\d+)/i.exec(head)?.[1] ?? ''
    expect(bytes).toBe(Number(told))
    lengths.add(told)
    megabytes += bytes / 1e6
  }
  expect(lengths.size).toBe(1)
  const peak = peakMb(service.pid())
  const least = Math.round(idle)
  console.log(
    `${CLIENTS} clients, ${Math.round(megabytes)} MB: at most ${Math.round(peak)} MB, ${least} without`,
  )
  // Far less than all answers in memory at once.
  expect(peak - idle).toBeLessThan(megabytes / 2)
  expect(peak).toBeLessThan(MAX_MB)
})
