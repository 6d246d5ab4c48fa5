import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../service-process.ts'
import { findPostgres, installPackages, postgresUser } from './debian.ts'

/** A PostgreSQL server of this machine, in a folder of its own. */
type PostgresNode = {
  readonly port: number
  /** Ends it without a word, as a machine that lost its power. */
  kill(): Promise<void>
  /** Starts it again in its folder. */
  start(): Promise<void>
  /** Removes its folder and copies it from the primary. */
  clone(): Promise<void>
}

/** A primary with standbys, and the one address at which the primary is found. */
export type PostgresCluster = {
  readonly nodes: readonly PostgresNode[]
  /** The address of a new, empty database. */
  createDatabase(name: string): Promise<string>
  /** Runs a statement on the primary. */
  sql(text: string, database?: string): Promise<string>
  /** The same database, always on one node. */
  addressOf(node: PostgresNode, database: string): string
  /** Makes a standby the primary; the address leads to it from now on. */
  promote(node: PostgresNode): Promise<void>
  /** Ends every connection and lets no new one in until it is opened again. */
  shut(): void
  open(): void
  stop(): Promise<void>
}

const PATIENCE_MS = 60_000
const IS_ROOT = process.getuid?.() === 0

/** Starts a primary with standbys. */
export async function startPostgres(standbys = 0): Promise<PostgresCluster> {
  const bin = installPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-postgres-'))
  const owner = postgresUser()
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  chmodSync(folder, 0o700)
  const door = new Door()
  const nodes: Node[] = []
  for (let at = 0; at <= standbys; at++) {
    nodes.push(new Node(bin, join(folder, `node${at}`), `node${at}`, await freePort(), nodes[0]))
  }
  const [first, ...others] = nodes as [Node, ...Node[]]
  await first.create(others.map(({ name }) => name))
  await first.start()
  for (const node of others) await node.clone()
  await door.open(first.port)
  const cluster: PostgresCluster = {
    nodes,
    async createDatabase(name) {
      await sql(bin, door.target, 'postgres', `CREATE DATABASE ${name}`)
      return `postgres://postgres@127.0.0.1:${door.port}/${name}`
    },
    sql: (text, database = 'postgres') => sql(bin, door.target, database, text),
    addressOf: (node, database) => `postgres://postgres@127.0.0.1:${node.port}/${database}`,
    async promote(node) {
      await sql(bin, node.port, 'postgres', 'SELECT pg_promote()')
      await until(
        async () =>
          (await sql(bin, node.port, 'postgres', 'SELECT pg_is_in_recovery()')).trim() === 'f',
      )
      for (const one of nodes) one.primary = node as Node
      door.move(node.port)
    },
    shut: () => door.shut(),
    open: () => door.move(door.target),
    async stop() {
      door.close()
      for (const node of nodes) await node.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return cluster
}

class Node implements PostgresNode {
  readonly port: number
  readonly name: string
  primary: Node | undefined
  readonly #bin: string
  readonly #folder: string
  #child: ChildProcess | undefined

  constructor(bin: string, folder: string, name: string, port: number, primary: Node | undefined) {
    this.#bin = bin
    this.#folder = folder
    this.name = name
    this.port = port
    this.primary = primary
  }

  async create(standbys: readonly string[]): Promise<void> {
    runAs(join(this.#bin, 'initdb'), [
      '-D',
      this.#folder,
      '-U',
      'postgres',
      '-A',
      'trust',
      '--no-sync',
    ])
    const names = standbys.map((name) => `"${name}"`).join(', ')
    // A commit is acknowledged when one standby has it on disk.
    const synchronous =
      standbys.length === 0 ? '' : `synchronous_standby_names = 'ANY 1 (${names})'\n`
    appendFileSync(
      join(this.#folder, 'postgresql.conf'),
      `\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nwal_level = replica\nmax_wal_senders = 8\nhot_standby = on\n${synchronous}`,
    )
  }

  async clone(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
    const from = `host=127.0.0.1 port=${this.primary!.port} user=postgres application_name=${this.name}`
    runAs(join(this.#bin, 'pg_basebackup'), [
      '-D',
      this.#folder,
      '-d',
      from,
      '-R',
      '-c',
      'fast',
      '--no-sync',
    ])
    await this.start()
  }

  async start(): Promise<void> {
    const args = ['-D', this.#folder, '-p', String(this.port)]
    const [program, ...rest] = asPostgres(join(this.#bin, 'postgres'), args)
    const child = spawn(program!, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    const kill = (): void => void child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.removeListener('exit', kill))
    let log = ''
    child.stderr.on('data', (piece: Buffer) => (log = (log + piece.toString()).slice(-4000)))
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${log}`)
      return (
        spawnSync(join(this.#bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(this.port)])
          .status === 0
      )
    })
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
}

/** Leads connections to the primary, as a balancer of an installation does. */
class Door {
  target = 0
  #server: Server | undefined
  readonly #sockets = new Set<Socket>()
  #isShut = false

  get port(): number {
    return (this.#server!.address() as AddressInfo).port
  }

  async open(target: number): Promise<void> {
    this.target = target
    this.#server = createServer((client) => {
      if (this.#isShut) {
        client.destroy()
        return
      }
      const server = connect(this.target, '127.0.0.1')
      for (const socket of [client, server]) {
        this.#sockets.add(socket)
        socket.setNoDelay(true)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          this.#sockets.delete(socket)
          client.destroy()
          server.destroy()
        })
      }
      client.pipe(server).pipe(client)
    })
    await new Promise<void>((resolve) => void this.#server!.listen(0, '127.0.0.1', resolve))
  }

  move(target: number): void {
    this.target = target
    this.#isShut = false
    for (const socket of this.#sockets) socket.destroy()
  }

  shut(): void {
    this.#isShut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.shut()
    this.#server?.close()
  }
}

/** Installs PostgreSQL from Debian where it is missing; the folder of its programs. */
export function installPostgres(): string {
  installPackages(['postgresql'], () => findPostgres() !== undefined)
  return findPostgres()!
}

// PostgreSQL refuses to run as root. `setpriv` replaces itself, so that the child is the server.
function asPostgres(program: string, args: readonly string[]): string[] {
  if (!IS_ROOT) return [program, ...args]
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args]
}

function runAs(program: string, args: readonly string[]): void {
  const [first, ...rest] = asPostgres(program, args)
  const { status, stderr } = spawnSync(first!, rest, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
}

async function sql(bin: string, port: number, database: string, text: string): Promise<string> {
  const args = [
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-U',
    'postgres',
    '-At',
    '-c',
    text,
    database,
  ]
  const { status, stdout, stderr } = spawnSync(join(bin, 'psql'), args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${text}: ${stderr}`)
  return stdout
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error('PostgreSQL did not become ready')
    await pause(50)
  }
}
