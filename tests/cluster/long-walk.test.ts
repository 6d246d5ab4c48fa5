import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  MADE_START,
  makeMarket,
} from '../../packages/service/src/api/bulk/generated-market.testing.ts'
import { copyToDatabase } from '../../packages/service/src/cluster/copy-tape.ts'
import { LEASE_MS, LeaseKeeper } from '../../packages/service/src/cluster/lease-keeper.ts'
import { Sender } from '../../packages/service/src/cluster/sender.ts'
import { SharedTape } from '../../packages/service/src/cluster/shared-tape.ts'
import { openSharedWriter } from '../../packages/service/src/cluster/writer.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { AppendBatch } from '../../packages/service/src/store/store.ts'
import { createService, type ServiceProcess } from '../service-process.ts'
import { askInTurn } from './ask-in-turn.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'

const ROWS = 100_000
const MORE_ROWS = 10_000
const ROW_MICROS = 20_000
const TEST_MS = 300_000
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

let server: PostgresCluster
let folder: string
let address: string
let key: string
const nodes: ServiceProcess[] = []
const later: AppendBatch[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-walk-'))
  server = await startPostgres(2)
  address = await server.createDatabase('walk')
  const file = join(folder, 'tape.db')
  const store = openEmbeddedStore({ file })
  for (const batch of makeMarket(ROWS + MORE_ROWS)) {
    if (batch.position <= ROWS) await store.append(batch)
    else later.push(batch)
  }
  await store.close()
  await copyToDatabase(address, file, () => undefined)
  for (let at = 0; at < 3; at++) {
    const args = ['--role', 'api', '--store', address, '--upstream', 'none', '--workers', '1']
    const node = await createService(args)
    nodes.push(node)
    await node.start()
  }
  key = nodes[0]!.keyOf('unlimited')
  await pause(3_000)
}, TEST_MS)

afterAll(async () => {
  for (const node of nodes) await node.destroy()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}, TEST_MS)

type Page = {
  readonly data: readonly { readonly sequence: number; readonly received_time: string }[]
  readonly meta: { readonly receipt?: { readonly rows: number } }
  readonly pagination: { readonly next_cursor: string | null }
}

/** Writes to the same market on and on, and sends it. */
async function write(signal: AbortSignal): Promise<number> {
  const tape = new SharedTape(address)
  const lease = (await tape.take('writer', LEASE_MS))!
  const file = join(folder, 'tape.db')
  const store = await openSharedWriter(tape, lease, { file }, () => undefined)
  const keeper = new LeaseKeeper(tape, lease)
  const stop = new AbortController()
  const sender = new Sender(tape, keeper, store.outbox!, LOG, () => undefined)
  const sending = sender.run(stop.signal)
  for (const batch of later) {
    await store.append(batch)
    if (signal.aborted) break
    await pause(1_000)
  }
  while (sender.status().sent < sender.status().last) await pause(20)
  const { sent } = sender.status()
  stop.abort()
  await sending
  await keeper.stop()
  await store.close()
  await tape.close()
  return sent
}

test(
  'a walk of 100,000 rows over three nodes is whole while one and the primary are killed',
  async () => {
    const end = MADE_START + ROWS * ROW_MICROS
    const path = `/v3/venueb/KXMADE-1/snapshots?limit=500&depth=1&time_format=epoch_us&end_time=${end}`
    const stop = new AbortController()
    const writing = write(stop.signal)
    let rows = 0
    let pages = 0
    let receipt: Page['meta']['receipt']
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      if (pages === 40) await nodes[1]!.kill()
      if (pages === 80) await server.nodes[0]!.kill()
      if (pages === 120) await nodes[1]!.start()
      if (pages === 130) {
        await server.promote(server.nodes[1]!)
        await server.nodes[2]!.clone()
      }
      const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page = await askInTurn<Page>(nodes, key, pages, path + more)
      for (const row of page.data) {
        const at = MADE_START + rows * ROW_MICROS
        rows++
        if (row.sequence !== rows || Number(row.received_time) !== at) {
          throw new Error(`row ${rows}: ${JSON.stringify(row)}`)
        }
      }
      cursor = page.pagination.next_cursor
      receipt = page.meta.receipt
    }
    stop.abort()
    const sent = await writing
    console.log(`${rows} rows on ${pages} pages, ${sent} commits of the writer were sent`)
    expect([rows, pages]).toEqual([ROWS, ROWS / 500])
    expect(receipt?.rows).toBe(ROWS)
  },
  TEST_MS,
)
