import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmulator } from '../../packages/emulator/src/emulator.ts'
import { startRecorderProcess, toLiveEnvironment } from '../capture/recorder-process.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { startBalancer } from './balancer.ts'
import { startPostgres } from './postgres.ts'

// `npm run cluster`: a shared tape on this machine, to try it out. Everything is removed at the end.

const API_PORT = 8780
const closers: (() => Promise<void> | void)[] = []

async function run(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-cluster-'))
  closers.push(() => rmSync(home, { recursive: true, force: true }))
  console.log('starting PostgreSQL: a primary and two standbys')
  const database = await startPostgres(2)
  closers.push(() => database.stop())
  const address = await database.createDatabase('tape')
  const emulator = await startEmulator({ seed: 1 })
  closers.push(() => emulator.close())
  for (const name of ['r1', 'r2']) {
    const folder = join(home, name)
    const env = { ...toLiveEnvironment(emulator.addresses, folder), PRIORBOOK_STORE: address }
    const recorder = await startRecorderProcess(folder, env, [
      '--role',
      'capture',
      '--recorder',
      name,
    ])
    closers.push(async () => void (await recorder.end('SIGTERM')))
    console.log(`recorder ${name}   process ${recorder.pid}`)
  }
  const nodes: ServiceProcess[] = []
  for (let at = 1; at <= 3; at++) {
    const args = ['--role', 'api', '--store', address, '--upstream', 'none', '--workers', '1']
    const node = await createService(args)
    closers.push(() => node.destroy())
    await node.start()
    nodes.push(node)
    console.log(`API node ${at}    ${node.url}`)
  }
  const balancer = await startBalancer(nodes, API_PORT)
  closers.push(() => balancer.close())
  const { port } = balancer
  const key = nodes[0]!.keyOf('unlimited')
  console.log(`database      ${address}`)
  console.log(`\n  explorer http://127.0.0.1:${port}/`)
  console.log(
    `  curl -H 'Authorization: Bearer ${key}' 'http://127.0.0.1:${port}/v3/markets?limit=3'\n`,
  )
  console.log('Kill a recorder, a node or a server and watch. Ctrl-C ends everything.')
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
}

try {
  await run()
} finally {
  for (const close of closers.toReversed()) await close()
}
