import { appendFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as sql from './duckdb-sql.ts'
import { toContracts, toDollars } from './row.ts'
import { runPeer } from './run-peer.ts'
import type { FoldedObservation } from '../lib/naive-fold.ts'
import type { Peer, PeerBuilder, PeerEngine } from './peer.ts'

/** DuckDB over one sorted Parquet file. */
export const duckdb: PeerEngine = {
  name: 'duckdb',
  notes: [
    'DuckDB 1.5.6 in process, queries over one Parquet file sorted by (instrument, sequence)',
    'zstd level 9, row groups of 8,192 rows, ladders as lists of DOUBLE, metadata cache on',
    'as of and latest: a query for the sequence, then a page of one row; statements prepared',
    'Parquet has no append: measured on a table of a DuckDB file, one transaction a batch, whose' +
      ' commit syncs the log; batches are read from a JSON file written before',
    'text variant: every row rendered to JSON when written, pages read that one column',
  ],
  createBuilder,
  open,
}

async function createBuilder(folder: string): Promise<PeerBuilder> {
  const instance = await createInstance(':memory:')
  const connection = await instance.connect()
  const lines = join(folder, 'lines.json')
  await connection.run(sql.createBooks('book'))
  let waiting: string[] = []

  const flush = (): void => {
    appendFileSync(lines, `${waiting.join('\n')}\n`)
    waiting = []
  }
  return {
    async add(observation) {
      waiting.push(toInsertLine(observation))
      if (waiting.length === 20_000) flush()
    },
    async finish() {
      flush()
      await connection.run(sql.loadLines('book', lines))
      rmSync(lines)
      await connection.run(sql.writeBooks('book', bookFile(folder)))
      return statSync(bookFile(folder)).size
    },
    async addTextVariant() {
      await connection.run(sql.writeTexts('book', textFile(folder)))
      return statSync(textFile(folder)).size
    },
    async close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

async function open(folder: string): Promise<Peer> {
  const book = bookFile(folder)
  const database = join(folder, 'append.duckdb')
  rmSync(database, { force: true })
  const instance = await createInstance(database)
  const connection = await instance.connect()
  await connection.run('SET parquet_metadata_cache = true')
  await connection.run(sql.createBooks('appended'))

  let batches = 0
  const statements = {
    full: await connection.prepare(sql.page(book, 'full')),
    without_ladders: await connection.prepare(sql.page(book, 'without_ladders')),
    text: await connection.prepare(sql.textPage(textFile(folder))),
    lastSequence: await connection.prepare(sql.lastSequence(book)),
    bestPrices: await connection.prepare(sql.bestPrices(book)),
  }

  const readRows = async (statement: DuckStatement, values: Values): Promise<string> => {
    statement.bind(values)
    return ((await statement.runAndReadAll()).getColumns()[0] ?? []).join('\n')
  }
  const readLast = async (ticker: string, atMicros: bigint): Promise<string> => {
    statements.lastSequence.bind([ticker, atMicros])
    const last = (await statements.lastSequence.runAndReadAll()).getColumns()[0]?.[0]
    if (typeof last !== 'bigint') return ''
    return readRows(statements.full, [ticker, last, last])
  }
  return {
    readPage: ({ ticker, from, rows }, shape) =>
      readRows(statements[shape], [ticker, BigInt(from), BigInt(from + rows - 1)]),
    readTextPage: ({ ticker, from, rows }) =>
      readRows(statements.text, [ticker, BigInt(from), BigInt(from + rows - 1)]),
    readAsOf: ({ ticker, atMicros }) => readLast(ticker, BigInt(atMicros)),
    readLatest: (ticker) => readLast(ticker, BigInt(Date.UTC(2100, 0)) * 1000n),
    async readSample(ticker, bucketSeconds) {
      return readRows(await connection.prepare(sql.sample(book, bucketSeconds)), [ticker])
    },
    async replay(ticker) {
      statements.bestPrices.bind([ticker])
      const [bids = [], asks = []] = (await statements.bestPrices.runAndReadAll()).getColumns()
      let sum = 0
      for (let row = 0; row < bids.length; row++) {
        const bid = bids[row]
        const ask = asks[row]
        if (typeof bid === 'number' && typeof ask === 'number') sum += bid + ask
      }
      if (sum < 0) throw new Error('Prices are positive')
      return bids.length
    },
    prepareAppend(batch) {
      // A new name each time, because DuckDB may keep the content of a file it has read.
      batches += 1
      const file = join(folder, `batch-${batches}.json`)
      writeFileSync(file, batch.map(toInsertLine).join('\n'))
      return async () => {
        await connection.run(sql.loadLines('appended', file))
      }
    },
    async close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

const bookFile = (folder: string): string => join(folder, 'book.parquet')
const textFile = (folder: string): string => join(folder, 'text.parquet')

function toInsertLine(observation: FoldedObservation): string {
  const bidPrice = observation.bidPrice.map(toDollars)
  const askPrice = observation.askPrice.map(toDollars)
  return JSON.stringify([
    observation.ticker,
    observation.sequence,
    observation.receivedMicros,
    observation.sourceMicros,
    observation.venueSid,
    observation.venueSeq,
    0,
    bidPrice[0] ?? null,
    askPrice[0] ?? null,
    bidPrice,
    observation.bidSize.map(toContracts),
    askPrice,
    observation.askSize.map(toContracts),
  ])
}

type Values = readonly (string | bigint)[]

/** The small part of DuckDB's interface that is used here; it is installed on demand. */
type DuckStatement = {
  bind(values: Values): void
  runAndReadAll(): Promise<{ getColumns(): unknown[][] }>
}

type DuckConnection = {
  run(text: string): Promise<unknown>
  prepare(text: string): Promise<DuckStatement>
  closeSync(): void
}

type DuckInstance = {
  connect(): Promise<DuckConnection>
  closeSync(): void
}

type DuckModule = {
  readonly DuckDBInstance: { create(path: string): Promise<DuckInstance> }
}

async function createInstance(path: string): Promise<DuckInstance> {
  // A name that is no literal keeps the compiler from looking for types of an absent package.
  const name: string = '@duckdb/node-api'
  const { DuckDBInstance } = (await import(name)) as DuckModule
  return DuckDBInstance.create(path)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runPeer(duckdb, fileURLToPath(import.meta.url))
}
