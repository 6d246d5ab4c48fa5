import { join } from 'node:path'
import { LEASE_MS } from '../packages/service/src/cluster/lease-keeper.ts'
import { SharedTape, type Lease } from '../packages/service/src/cluster/shared-tape.ts'
import { openSharedWriter } from '../packages/service/src/cluster/writer.ts'
import type { EmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { Script } from '../packages/service/src/store/store-script.testing.ts'
import { startPostgres, type PostgresCluster } from '../tests/cluster/postgres.ts'
import { rounded, percentile } from './lib/measure.ts'
import { withScratch } from './lib/scratch.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 2_000_000)
const ROWS_AT_ONCE = 1_000_000
const COMMITS = 400
const SLICES = 100

/**
 * `npm run bench -- scale`: what the database of a shared tape does with a large image beside it: `BENCH_ROWS`
 * rows of the size of an entry of the directory of chunks.
 */
export async function benchScale(): Promise<Record<string, number>> {
  const server = await startPostgres()
  try {
    return await withScratch((folder) => measure(folder, server))
  } finally {
    await server.stop()
  }
}

async function measure(folder: string, server: PostgresCluster): Promise<Record<string, number>> {
  const tape = new SharedTape(await server.createDatabase('scale'))
  await tape.prepare()
  const lease = (await tape.take('bench', LEASE_MS * 100_000))!
  const file = join(folder, 'tape.db')
  const store = await openSharedWriter(tape, lease, { file }, () => undefined)
  const script = new Script(5)
  const empty = await measureCommits(tape, lease, store, script)
  const began = performance.now()
  // An index that is made afterwards takes a quarter of the time.
  await server.sql('ALTER TABLE priorbook_row DROP CONSTRAINT priorbook_row_pkey', 'scale')
  for (let from = 0; from < ROWS; from += ROWS_AT_ONCE) {
    await fill(server, from, Math.min(ROWS, from + ROWS_AT_ONCE))
    console.error(`${((from + ROWS_AT_ONCE) / 1e6).toFixed(0)} M rows`)
  }
  const index = 'ALTER TABLE priorbook_row ADD PRIMARY KEY (relation, key)'
  await server.sql(`SET maintenance_work_mem = '2GB'; ${index}`, 'scale')
  await server.sql('ANALYZE priorbook_row', 'scale')
  const filled = performance.now()
  const full = await measureCommits(tape, lease, store, script)
  const slice = await measureSlices(server)
  const bytes = Number(await server.sql(`SELECT pg_total_relation_size('priorbook_row')`, 'scale'))
  await store.close()
  await tape.close()
  return {
    rows: ROWS,
    fill_rows_per_s: rounded((ROWS * 1000) / (filled - began)),
    bytes_per_row: rounded(bytes / ROWS),
    slice_1000_ms: slice,
    ...named('empty', empty),
    ...named('full', full),
  }
}

// Keys in no order, as those of many instruments are.
async function fill(server: PostgresCluster, from: number, to: number): Promise<void> {
  await server.sql(
    `INSERT INTO priorbook_row (relation, key, value)
     SELECT 'directory', decode(md5(n::TEXT), 'hex'), decode(repeat(md5((n * 7)::TEXT), 6), 'hex')
     FROM generate_series(${from}, ${to - 1}) n`,
    'scale',
  )
}

// What a new node reads again and again: the next rows of the image after a key, at any place of it.
async function measureSlices(server: PostgresCluster): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < SLICES; at++) {
    const start = `\\x${(at * 42_949_672).toString(16).padStart(8, '0')}`
    const plan = await server.sql(
      `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON) SELECT key, value FROM priorbook_row
       WHERE relation = 'directory' AND key > '${start}' ORDER BY key LIMIT 1000`,
      'scale',
    )
    taken.push(Number(/Execution Time: ([\d.]+)/.exec(plan)![1]))
  }
  return rounded(percentile(taken, 0.5))
}

/** Appends commits one by one, reads them as a follower does, and folds them into the image. */
async function measureCommits(
  tape: SharedTape,
  lease: Lease,
  store: EmbeddedStore,
  script: Script,
): Promise<Record<string, number>> {
  const appended: number[] = []
  const read: number[] = []
  for (const batch of script.take(COMMITS)) {
    await store.append(batch)
    const commits = store.outbox!.read(1e9)
    const before = commits[0]!.id - 1
    const start = performance.now()
    store.outbox!.sent(await tape.append(lease, commits))
    appended.push(performance.now() - start)
    const reading = performance.now()
    await tape.read({ commit: before, mark: '' }, 64)
    read.push(performance.now() - reading)
  }
  const start = performance.now()
  while ((await tape.fold(0)) > 0);
  const folded = performance.now() - start
  return {
    append_ms: rounded(percentile(appended, 0.5)),
    append_p95_ms: rounded(percentile(appended, 0.95)),
    read_ms: rounded(percentile(read, 0.5)),
    fold_commits_per_s: rounded((COMMITS * 1000) / folded),
  }
}

function named(name: string, figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([figure, value]) => [`${name}_${figure}`, value]),
  )
}
