import { spawn } from 'node:child_process'
import { join } from 'node:path'
import {
  VENUES,
  type BookChange,
  type Instrument,
  type Level,
  type MarketRecord,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { openAccess } from '../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../packages/service/src/api/server.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../packages/service/src/store/embedded/open.ts'
import { preparePython } from '../tests/python/environment.ts'
import { createRandom } from './lib/random.ts'
import { withScratch } from './lib/scratch.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 1_000_000)
const BATCH = 20_000
const LEVELS = 10
const BEGIN = Date.UTC(2026, 8, 1) * 1000
const MARKET = 'KXBENCH-26SEP01-T1'
const VENUE: VenueId = 'venueb'
const READS = ['polars', 'pandas', 'json', 'json_floats', 'pandas_csv']
const RUNS = ['backtest_python', 'backtest_javascript']
// BENCH_WAYS names some of them.
const WAYS = process.env['BENCH_WAYS']?.split(',') ?? [...READS, ...RUNS]
const PROGRAM = join(import.meta.dirname, '../packages/sdk/bin/priorbook.mjs')

/**
 * `npm run bench -- python`: a market of a million books with ladders, read over HTTP into polars, as JSON pages
 * and as CSV with pandas, each by a Python process of its own. BENCH_ROWS changes the number of books, and
 * BENCH_WAYS names the ways.
 */
export function benchPython(): Promise<Record<string, unknown>> {
  const python = preparePython()
  return withScratch(async (folder) => {
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    const access = openAccess(folder)
    try {
      await writeMarket(store)
      const server = createApiServer({ store, access })
      const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
      const { key } = access.keys.create({ plan: 'unlimited', name: 'bench' })
      const results: Record<string, unknown> = { rows: ROWS, levels: LEVELS * 2 }
      for (const way of WAYS) {
        const env = {
          PRIORBOOK_URL: url,
          PRIORBOOK_KEY: key,
          BENCH_MARKET: MARKET,
          PRIORBOOK_CLI: `${process.execPath} ${PROGRAM}`,
        }
        const before = process.cpuUsage()
        const { seconds, cpu, mb, rows } = JSON.parse(await runPython(python, way, env)) as Figures
        const { user, system } = process.cpuUsage(before)
        if (rows !== ROWS) throw new Error(`${way} read ${rows} rows`)
        // On a busy machine the CPU says more than the clock.
        Object.assign(results, {
          [`${way}_s`]: seconds,
          [`${way}_cpu_s`]: cpu,
          [`${way}_server_cpu_s`]: Math.round((user + system) / 10_000) / 100,
          [`${way}_peak_mb`]: mb,
        })
      }
      await server.close(500)
      return { ...results, ...ratiosOf(results) }
    } finally {
      access.close()
      await store.close()
    }
  })
}

/** How many times as long JSON takes, by clock and by CPU, and what a backtest does in a second. */
function ratiosOf(results: Readonly<Record<string, unknown>>): Record<string, number> {
  const figure = (name: string): number => Number(results[name])
  const ratios: Record<string, number> = {}
  for (const way of ['json', 'json_floats']) {
    for (const unit of ['s', 'cpu_s']) {
      const over = figure(`${way}_${unit}`) / figure(`polars_${unit}`)
      ratios[`${way}_over_polars_${unit.replace(/_?s$/, '') || 'clock'}`] =
        Math.round(over * 10) / 10
    }
    const both = (name: string): number => figure(`${name}_cpu_s`) + figure(`${name}_server_cpu_s`)
    ratios[`${way}_over_polars_cpu_with_server`] =
      Math.round((both(way) / both('polars')) * 10) / 10
  }
  for (const way of RUNS) ratios[`${way}_per_s`] = Math.round(ROWS / figure(`${way}_s`))
  return Object.fromEntries(Object.entries(ratios).filter(([, value]) => Number.isFinite(value)))
}

type Figures = Readonly<Record<'seconds' | 'cpu' | 'mb' | 'rows', number>>

async function runPython(
  python: string,
  way: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const program = join(import.meta.dirname, 'python/read_books.py')
  const child = spawn(python, [program, way], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (bytes) => (text += String(bytes)))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${way} ended with ${String(code)}`)
  return text
}

async function writeMarket(store: EmbeddedStore): Promise<void> {
  const made = { venue: VENUE, origin: 'emulator', recorder: 'bench', normalizer: 1 } as const
  const books = makeBooks()
  for (let index = 0; index < ROWS; index += BATCH) {
    const observations: Observation[] = []
    for (let count = 0; count < Math.min(BATCH, ROWS - index); count++) {
      observations.push(books.next().value!)
    }
    const revisions =
      index === 0
        ? [{ kind: 'market', received: BEGIN as Micros, journal: 1, record: recordOf() } as const]
        : []
    await store.append({ ...made, position: index + observations.length, revisions, observations })
  }
  await store.seal()
}

function recordOf(): MarketRecord {
  return {
    venue: VENUE,
    marketId: MARKET,
    status: 'open',
    openTime: BEGIN as Micros,
    closeTime: (BEGIN + 86_400_000_000) as Micros,
    outcomes: ['Yes', 'No'].map((label, index) => ({ label, index })),
    units: VENUES[VENUE].units,
    native: {},
  }
}

function* makeBooks(): Generator<Observation, undefined> {
  const random = createRandom(3)
  const instrument: Instrument = { venue: VENUE, market: MARKET, key: MARKET }
  const assembler = new BookAssembler(instrument)
  const cent = 10 ** (VENUES[VENUE].priceDecimals - 2)
  const level = (cents: number): Level => ({
    price: (cents * cent) as PriceTicks,
    size: random.integer(1, 100_000) as SizeUnits,
  })
  const side = (best: number, step: number): Level[] =>
    Array.from({ length: LEVELS }, (_, index) => level(best + index * step))
  const first = { bids: side(49, -1), asks: side(51, 1) }
  yield observed(
    assembler.take({
      kind: 'snapshot',
      instrument,
      ...first,
      received: BEGIN as Micros,
      journal: 1,
    }),
  )
  for (let index = 1; ; index++) {
    const isBid = random.chance(0.5)
    const cents = isBid ? random.integer(40, 49) : random.integer(51, 60)
    const change: BookChange = {
      kind: 'change',
      instrument,
      changes: [{ ...level(cents), side: isBid ? 'bid' : 'ask' }],
      signed: false,
      received: (BEGIN + index * 50_000) as Micros,
      journal: index + 1,
    }
    yield observed(assembler.take(change))
  }
}

function observed(row: ReturnType<BookAssembler['take']>): Observation {
  if ('violation' in row) throw new Error(row.detail)
  return row
}
