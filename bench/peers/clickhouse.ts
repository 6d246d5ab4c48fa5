import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as sql from './clickhouse-sql.ts'
import { toContracts, toDollars } from './row.ts'
import { runPeer } from './run-peer.ts'
import type { FoldedObservation } from '../lib/naive-fold.ts'
import type { Peer, PeerBuilder, PeerEngine } from './peer.ts'

/** ClickHouse, embedded as chdb: a MergeTree table of books with one part after the import. */
export const clickhouse: PeerEngine = {
  name: 'clickhouse',
  notes: [
    'chdb 3.4.0 in process, MergeTree ORDER BY (instrument, sequence), one merged wide part',
    'ladders as arrays of Decimal32 with ZSTD(12), times and seq with Delta codecs under ZSTD',
    'index_granularity 512, minmax index on received_time, uncompressed block cache on',
    'old analyzer, which is faster for pages than the new one; one thread a query',
    'appends: fsync_after_insert and fsync_part_directory, one part a batch; text made before',
    'text variant: every row rendered to JSON when written, pages read that one column',
  ],
  createBuilder,
  open,
}

async function createBuilder(folder: string): Promise<PeerBuilder> {
  const session = await openSession(folder)
  session.query('CREATE DATABASE peer ENGINE = Atomic')
  session.query(sql.createBooks('peer.book', []))
  session.query(sql.createTexts('peer.text'))
  let lines: string[] = []

  const flush = async (): Promise<void> => {
    const values = Buffer.from(lines.join('\n'))
    lines = []
    await session.insert({ table: 'peer.book', format: 'JSONCompactEachRow', values })
  }
  return {
    async add(observation) {
      lines.push(toInsertLine(observation))
      if (lines.length === 20_000) await flush()
    },
    async finish() {
      if (lines.length > 0) await flush()
      session.query('OPTIMIZE TABLE peer.book FINAL')
      return sizeOf('book')
    },
    async addTextVariant() {
      session.query(sql.fillTexts('peer.text', 'peer.book'))
      session.query('OPTIMIZE TABLE peer.text FINAL')
      return sizeOf('text')
    },
    close: async () => session.close(),
  }

  function sizeOf(table: string): number {
    return Number(session.query(sql.sizeOnDisk('peer', table), 'TSV'))
  }
}

async function open(folder: string): Promise<Peer> {
  const session = await openSession(folder)
  const syncs = ['fsync_after_insert = 1', 'fsync_part_directory = 1']
  session.query('DROP TABLE IF EXISTS peer.appended SYNC')
  session.query(sql.createBooks('peer.appended', syncs))

  // The call that blocks is 5 % faster than the asynchronous one, and nothing else runs here.
  const read = async (text: string, format = 'JSONEachRow'): Promise<string> =>
    session.query(text, format)
  return {
    readPage: (page, shape) => read(sql.page('peer.book', page, shape)),
    readTextPage: (page) => read(sql.textPage('peer.text', page), 'TSVRaw'),
    readAsOf: (point) => read(sql.asOf('peer.book', point)),
    readLatest: (ticker) => read(sql.latest('peer.book', ticker)),
    readSample: (ticker, seconds) => read(sql.sample('peer.book', ticker, seconds)),
    async replay(ticker) {
      const best = sql.bestPrices('peer.book', ticker)
      return countQuotes((await session.queryAsync(best, { format: 'RowBinary' })).bytes())
    },
    prepareAppend(batch) {
      const values = Buffer.from(batch.map(toInsertLine).join('\n'))
      return async () => {
        await session.insert({ table: 'peer.appended', format: 'JSONCompactEachRow', values })
      }
    },
    close: async () => session.close(),
  }
}

/** Walks the binary rows: a null mark and, unless null, four bytes for each of the two prices. */
function countQuotes(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let offset = 0
  let prices = 0
  let sum = 0
  while (offset < bytes.byteLength) {
    const isNull = view.getUint8(offset) === 1
    if (!isNull) sum += view.getInt32(offset + 1, true)
    offset += isNull ? 1 : 5
    prices += 1
  }
  if (sum < 0) throw new Error('Prices are positive')
  return prices / 2
}

/** One row for the format JSONCompactEachRow, in the order of the table's columns. */
function toInsertLine(observation: FoldedObservation): string {
  const { bidPrice, bidSize, askPrice, askSize } = observation
  const bids = { price: bidPrice.map(toDollars), size: bidSize.map(toContracts) }
  const asks = { price: askPrice.map(toDollars), size: askSize.map(toContracts) }
  return JSON.stringify([
    observation.ticker,
    observation.sequence,
    // A DateTime64(6) takes a decimal number of seconds without loss only as text.
    toSeconds(observation.receivedMicros),
    observation.sourceMicros === null ? null : toSeconds(observation.sourceMicros),
    { sid: observation.venueSid, seq: observation.venueSeq },
    0,
    bids.price[0] ?? null,
    asks.price[0] ?? null,
    bids,
    asks,
  ])
}

function toSeconds(micros: number): string {
  return `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, '0')}`
}

/** The small part of chdb's interface that is used here; the package is installed on demand. */
type ChdbSession = {
  query(sql: string, format?: string): string
  queryAsync(sql: string, options: { readonly format: string }): Promise<{ bytes(): Uint8Array }>
  insert(rows: {
    readonly table: string
    readonly format: 'JSONCompactEachRow'
    readonly values: Buffer
  }): Promise<unknown>
  close(): void
}

type ChdbModule = {
  readonly Session: new (
    path: string,
    options: { readonly connectionArgs: readonly string[] },
  ) => ChdbSession
}

async function openSession(folder: string): Promise<ChdbSession> {
  const path = join(folder, 'clickhouse')
  mkdirSync(path, { recursive: true })
  // A name that is no literal keeps the compiler from looking for types of an absent package.
  const name: string = 'chdb'
  const { Session } = (await import(name)) as ChdbModule
  const session = new Session(path, {
    connectionArgs: ['--uncompressed_cache_size=2000000000', '--mark_cache_size=500000000'],
  })
  for (const setting of sql.settings) session.query(`SET ${setting}`)
  return session
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runPeer(clickhouse, fileURLToPath(import.meta.url))
}
