import { join } from 'node:path'
import {
  REFERENCE_METRIC,
  referenceInstrument,
  settlementFeed,
  VENUE_IDS,
  VENUES,
  type BookChange,
  type Gap,
  type Instrument,
  type Level,
  type MarketRecord,
  type Micros,
  type PriceTicks,
  type Sample,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { openAccess } from '../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../packages/service/src/api/server.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../packages/service/src/store/embedded/open.ts'
import { percentile, rounded } from './lib/measure.ts'
import { createRandom, type Random } from './lib/random.ts'
import { withScratch } from './lib/scratch.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 600)
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 200)
const PAGE_ROUNDS = 100
const OFFSETS = '-60s,-30s,-10s'
const SECOND = 1_000_000
const WINDOW = 900 * SECOND
const BEGIN = Date.UTC(2026, 8, 1) * 1000
// Changed books per second of a round, and prices of its feed before the close.
const CHANGES = 2
const PRICED_SECONDS = 120
const LEVELS = 20
// A venue that settles rounds on a feed of its own, so that every row also reads a reference price.
const VENUE = VENUE_IDS.find((venue) => VENUES[venue].references.some(({ settles }) => settles))!

/**
 * `npm run bench -- panels`: rounds of 15 minutes with two changed books a second, and pages of 100 of them at
 * three offsets, from any round on, one after another over HTTP. BENCH_ROUNDS changes the number of rounds.
 */
export function benchPanels(): Promise<Record<string, unknown>> {
  return withScratch(async (folder) => {
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    try {
      await writeRounds(store)
      return await measure(store, folder)
    } finally {
      await store.close()
    }
  })
}

async function measure(store: EmbeddedStore, folder: string): Promise<Record<string, unknown>> {
  const access = openAccess(folder)
  const server = createApiServer({ store, access })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'bench' })
  const random = createRandom(7)
  const limit = PAGE_ROUNDS * OFFSETS.split(',').length
  const ask = async (query: string): Promise<{ readonly ms: number; readonly bytes: number }> => {
    const begun = performance.now()
    const answer = await fetch(`${url}/v3/panels?asset=btc&window=15m&at=${OFFSETS}&${query}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const body = await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(Buffer.from(body).toString())
    return { ms: performance.now() - begun, bytes: body.byteLength }
  }
  try {
    const page = (): ReturnType<typeof ask> => {
      const first = random.integer(1, ROUNDS - PAGE_ROUNDS)
      return ask(`limit=${limit}&from=${BEGIN + first * WINDOW}`)
    }
    const cold = await page()
    for (let index = 0; index < REQUESTS / 4; index++) await page()
    const times: number[] = []
    const before = process.cpuUsage()
    for (let index = 0; index < REQUESTS; index++) times.push((await page()).ms)
    const { user, system } = process.cpuUsage(before)
    const file = await ask('format=parquet')
    return {
      rounds: ROUNDS,
      book_rows: ROUNDS * (900 * CHANGES + 1),
      page_rows: limit,
      page_bytes: cold.bytes,
      first_page_ms: rounded(cold.ms),
      page_p50_ms: rounded(percentile(times, 0.5)),
      page_p99_ms: rounded(percentile(times, 0.99)),
      // Of server and client together; on a busy machine it says more than the times.
      page_cpu_ms: rounded((user + system) / 1000 / REQUESTS),
      parquet_rounds_per_s: Math.round((ROUNDS / file.ms) * 1000),
    }
  } finally {
    await server.close(500)
    access.close()
  }
}

// In batches of some rounds, as a recorder would; the tape is sealed in the end.
async function writeRounds(store: EmbeddedStore): Promise<void> {
  const random = createRandom(1)
  const made = { venue: VENUE, origin: 'emulator', recorder: 'bench', normalizer: 1 } as const
  for (let index = 0; index < ROUNDS; index++) {
    const position = index + 1
    const record = recordOf(index)
    const observations = booksOf(record, position, random)
    const closed: Gap = {
      venue: VENUE,
      scope: 'instrument',
      key: record.outcomes[0]!.tokenId!,
      reason: 'market_closed',
      start: record.closeTime!,
      afterSequence: observations.length,
      journal: position,
    }
    await store.append({
      ...made,
      position,
      revisions: [{ kind: 'market', received: record.closeTime!, journal: position, record }],
      observations,
      samples: pricesOf(record, position),
      gaps: [closed],
    })
  }
  await store.seal()
}

function recordOf(index: number): MarketRecord {
  const openTime = (BEGIN + index * WINDOW) as Micros
  return {
    venue: VENUE,
    marketId: `0x${index.toString(16).padStart(64, '0')}`,
    status: 'resolved',
    openTime,
    closeTime: (openTime + WINDOW) as Micros,
    asset: 'BTC',
    window: '15m',
    winningOutcome: 'Up',
    resolution: { state: 'final', payouts: ['1', '0'] },
    outcomes: ['Up', 'Down'].map((label, at) => ({
      label,
      index: at,
      tokenId: `${7_000_000_000 + index * 2 + at}`,
    })),
    units: VENUES[VENUE].units,
    native: {},
  }
}

function booksOf(record: MarketRecord, journal: number, random: Random): Observation[] {
  const key = record.outcomes[0]!.tokenId!
  const instrument: Instrument = { venue: VENUE, market: record.marketId, key }
  const assembler = new BookAssembler(instrument)
  const { openTime } = record
  const cent = 10 ** (VENUES[VENUE].priceDecimals - 2)
  const level = (cents: number): Level => ({
    price: (cents * cent) as PriceTicks,
    size: random.integer(1, 1_000_000_000) as SizeUnits,
  })
  const side = (best: number, step: number): Level[] =>
    Array.from({ length: LEVELS }, (_, index) => level(best + index * step))
  const rows = [
    assembler.take({
      kind: 'snapshot',
      instrument,
      bids: side(49, -1),
      asks: side(51, 1),
      received: openTime!,
      journal,
    }),
  ]
  for (let index = 1; index <= 900 * CHANGES; index++) {
    const isBid = random.chance(0.5)
    const cents = isBid ? random.integer(30, 49) : random.integer(51, 70)
    const change: BookChange = {
      kind: 'change',
      instrument,
      changes: [{ ...level(cents), side: isBid ? 'bid' : 'ask' }],
      signed: false,
      received: (openTime! + index * (SECOND / CHANGES) - 1000) as Micros,
      journal,
    }
    rows.push(assembler.take(change))
  }
  return rows.map((row) => {
    if ('violation' in row) throw new Error(row.detail)
    return row
  })
}

function pricesOf(record: MarketRecord, journal: number): Sample[] {
  const { feed } = settlementFeed(VENUE, { window: record.window!, open: record.openTime! })!
  const instrument = referenceInstrument(VENUE, { feed, asset: 'BTC' })
  return Array.from({ length: PRICED_SECONDS }, (_, index) => ({
    kind: 'sample',
    instrument,
    metric: REFERENCE_METRIC,
    value: `${61_000 + index}.123456789012345678`,
    received: (record.closeTime! - (PRICED_SECONDS - index) * SECOND) as Micros,
    journal,
  }))
}
