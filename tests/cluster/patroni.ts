import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../service-process.ts'
import { findPostgres, installPackages, postgresUser, type Ids } from './debian.ts'

/** A member of a Patroni cluster: Patroni and the PostgreSQL server that it runs. */
type DatabaseMember = {
  readonly name: string
  /** Ends both without a word, as a machine that lost its power. */
  kill(): Promise<void>
  start(): void
  /** Removes its data; it must not run. */
  wipe(): void
}

/** Three database nodes with three etcd nodes and a balancer, as in `deploy/`. */
export type PatroniCluster = {
  /** The address of the database of Priorbook on the primary. */
  readonly address: string
  readonly members: readonly DatabaseMember[]
  /** The member that is the primary now; undefined while there is none. */
  primary(): Promise<DatabaseMember | undefined>
  /** Waits until one member is the primary and others follow it. */
  untilHealthy(standbys: number): Promise<DatabaseMember>
  /** Kills the etcd node that leads, and starts it again after some time. */
  killEtcdLeader(downMs: number): Promise<void>
  stop(): Promise<void>
}

const DEPLOY = join(import.meta.dirname, '../../deploy')
const PATIENCE_MS = 120_000
const PASSWORD = 'only-for-this-test'

/** Starts the cluster with the files of `deploy/`. */
export async function startPatroni(): Promise<PatroniCluster> {
  installPatroni()
  const home = mkdtempSync(join(tmpdir(), 'priorbook-patroni-'))
  const owner = postgresUser()
  if (owner !== undefined) chownSync(home, owner.uid, owner.gid)
  const etcd = await startEtcd(home, owner)
  const members: Member[] = []
  for (let at = 1; at <= 3; at++) {
    const ports = { database: await freePort(), rest: await freePort() }
    const member = new Member(`db${at}`, home, ports, etcd.hosts, owner)
    members.push(member)
    member.start()
  }
  const listen = await freePort()
  const balancer = startBalancer(listen, members)
  const primary = async (): Promise<Member | undefined> => {
    for (const member of members) if (await member.is('primary')) return member
    return undefined
  }
  const cluster: PatroniCluster = {
    address: `postgres://priorbook:${PASSWORD}@127.0.0.1:${listen}/tape`,
    members,
    primary,
    async untilHealthy(standbys) {
      const end = performance.now() + PATIENCE_MS
      for (;;) {
        const found = await primary()
        let following = 0
        let successors = 0
        for (const member of members) {
          if (await member.is('replica')) following++
          if (await member.is('sync')) successors++
        }
        // Patroni promotes only a standby that it has named as synchronous, and names one some seconds after a failover.
        const isReady = following >= standbys && successors >= Math.min(1, standbys)
        if (found !== undefined && isReady) return found
        if (performance.now() > end) throw new Error(`no healthy cluster: ${following} standbys`)
        await pause(250)
      }
    },
    killEtcdLeader: (downMs) => etcd.killLeader(downMs),
    async stop() {
      balancer.kill('SIGKILL')
      for (const member of members) await member.kill()
      await etcd.stop()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await cluster.untilHealthy(2)
  return cluster
}

class Member implements DatabaseMember {
  readonly name: string
  readonly ports: { readonly database: number; readonly rest: number }
  readonly #data: string
  readonly #env: Record<string, string>
  readonly #owner: Ids | undefined
  #running: ChildProcess | undefined

  constructor(
    name: string,
    home: string,
    ports: Member['ports'],
    etcdHosts: string,
    owner: Ids | undefined,
  ) {
    this.name = name
    this.ports = ports
    this.#owner = owner
    this.#data = join(home, name)
    this.#env = {
      PATH: `${DEPLOY}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      PATRONI_NAME: name,
      PATRONI_ETCD3_HOSTS: etcdHosts,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${ports.rest}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${ports.rest}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${ports.database}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${ports.database}`,
      PATRONI_POSTGRESQL_DATA_DIR: this.#data,
      PATRONI_POSTGRESQL_BIN_DIR: findPostgres()!,
      PATRONI_POSTGRESQL_PGPASS: join(home, `${name}.pgpass`),
      PATRONI_SUPERUSER_USERNAME: 'postgres',
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_USERNAME: 'replicator',
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
      PRIORBOOK_DATABASE_PASSWORD: PASSWORD,
      PATRONI_LOG_LEVEL: 'WARNING',
    }
  }

  start(): void {
    this.#running = spawn('patroni', [join(DEPLOY, 'patroni.yml')], {
      env: this.#env,
      cwd: '/',
      stdio: process.env['PATRONI_DEBUG'] === '1' ? 'inherit' : 'ignore',
      ...this.#owner,
    })
  }

  async kill(): Promise<void> {
    const child = this.#running
    this.#running = undefined
    if (child?.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    // The server is no child of Patroni.
    const file = join(this.#data, 'postmaster.pid')
    if (!existsSync(file)) return
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It is gone already.
    }
    await pause(200)
  }

  wipe(): void {
    rmSync(this.#data, { recursive: true, force: true, maxRetries: 5 })
  }

  async is(role: 'primary' | 'replica' | 'sync'): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(2_000)
      return (await fetch(`http://127.0.0.1:${this.ports.rest}/${role}`, { signal })).ok
    } catch {
      return false
    }
  }
}

type Etcd = {
  readonly hosts: string
  killLeader(downMs: number): Promise<void>
  stop(): Promise<void>
}

async function startEtcd(home: string, owner: Ids | undefined): Promise<Etcd> {
  const nodes: { name: string; client: number; peer: number; child?: ChildProcess }[] = []
  for (let at = 1; at <= 3; at++) {
    nodes.push({ name: `e${at}`, client: await freePort(), peer: await freePort() })
  }
  const all = nodes.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',')
  const start = (node: (typeof nodes)[number]): void => {
    const { name, client, peer } = node
    const data = join(home, name)
    mkdirSync(data, { recursive: true, mode: 0o700 })
    if (owner !== undefined) chownSync(data, owner.uid, owner.gid)
    const flags = {
      name,
      'data-dir': data,
      'listen-client-urls': `http://127.0.0.1:${client}`,
      'advertise-client-urls': `http://127.0.0.1:${client}`,
      'listen-peer-urls': `http://127.0.0.1:${peer}`,
      'initial-advertise-peer-urls': `http://127.0.0.1:${peer}`,
      'initial-cluster': all,
      'initial-cluster-state': 'new',
      logger: 'zap',
      'log-level': 'error',
    }
    const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
    node.child = spawn('etcd', args, { stdio: 'ignore', cwd: '/', ...owner })
  }
  const end = async ({ child }: (typeof nodes)[number]): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  for (const node of nodes) start(node)
  return {
    hosts: nodes.map(({ client }) => `127.0.0.1:${client}`).join(','),
    async killLeader(downMs) {
      for (const node of nodes) {
        const answer = await fetch(`http://127.0.0.1:${node.client}/v3/maintenance/status`, {
          method: 'POST',
          body: '{}',
        })
        const { header, leader } = (await answer.json()) as {
          header: { member_id: string }
          leader: string
        }
        if (header.member_id !== leader) continue
        await end(node)
        await pause(downMs)
        start(node)
        return
      }
      throw new Error('etcd has no leader')
    },
    async stop() {
      for (const node of nodes) await end(node)
    },
  }
}

function startBalancer(listen: number, members: readonly Member[]): ChildProcess {
  const env: Record<string, string> = { PRIMARY_LISTEN: `127.0.0.1:${listen}` }
  for (const [at, { ports }] of members.entries()) {
    env[`DB${at + 1}`] = `127.0.0.1:${ports.database}`
    env[`DB${at + 1}_REST_HOST`] = '127.0.0.1'
    env[`DB${at + 1}_REST_PORT`] = String(ports.rest)
  }
  const args = ['-f', join(DEPLOY, 'haproxy.cfg'), '-db']
  return spawn('haproxy', args, { env: { ...process.env, ...env }, stdio: 'ignore', cwd: '/' })
}

const PACKAGES = ['postgresql', 'patroni', 'etcd-server', 'python3-etcd', 'haproxy']

/** Installs Patroni, etcd and HAProxy from Debian where one of them is missing. */
export function installPatroni(): void {
  installPackages(PACKAGES, () =>
    ['patroni', 'etcd', 'haproxy'].every((name) => spawnSync('which', [name]).status === 0),
  )
}
