import {
  parsePrice,
  parseSize,
  toMicros,
  VENUE_IDS,
  VENUES,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import {
  CLOSES,
  OPENS,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../packages/sdk/src/domain/contracts/records.testing.ts'
import { createGeneratedBook } from './generated-book.ts'
import { createRandom, type Random } from './random.ts'

/** The contract of the round that is written. */
export const CONTRACT_ID = 'btc-15m-up-down-20261117T174500Z'

/** When the round begins and ends. */
export const ROUND = { opens: OPENS, closes: CLOSES } as const

// Rows a second, as each venue sends them: whole books, and changes of a busy round.
const RATES: Readonly<Record<VenueId, number>> = { venuea: 7, venueb: 100, venuec: 100 }
const RECORDS: Readonly<Record<VenueId, MarketRecord>> = {
  venuea: roundOfA(),
  venueb: roundOfB(),
  venuec: roundOfC(),
}
const LEVELS = 60
const BATCH = 4096

/** Writes a round of 15 minutes of three venues; gives the number of its rows. */
export async function writeRound(file: string): Promise<number> {
  const store = openEmbeddedStore({ file })
  let rows = 0
  for (const [index, venue] of VENUE_IDS.entries()) {
    const record = RECORDS[venue]
    const meta = { venue, origin: 'import', recorder: 'r1', normalizer: 1 } as const
    const revision = { kind: 'market', record, received: OPENS, journal: 1 } as const
    await store.append({ ...meta, position: 1, revisions: [revision] })
    const observations = observe(record, createRandom(index + 1))
    for (let from = 0; from < observations.length; from += BATCH) {
      const batch = observations.slice(from, from + BATCH)
      const position = batch.at(-1)!.journal
      await store.append({ ...meta, position, observations: batch })
    }
    rows += observations.length
  }
  await store.seal()
  await store.close()
  return rows
}

function observe(record: MarketRecord, random: Random): Observation[] {
  const { venue, marketId: market, outcomes } = record
  const key = VENUES[venue].booksPer === 'token' ? outcomes[0]!.tokenId! : market
  const assembler = new BookAssembler({ venue, market, key })
  const book = createGeneratedBook(random, LEVELS, 0.1)
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const price = (cents: number) => parsePrice(String(cents / 100), priceDecimals)
  const size = (hundredths: number) => parseSize((hundredths / 100).toFixed(2), sizeDecimals)
  const rows: Observation[] = []
  const step = 1_000_000 / RATES[venue]
  let received = Number(OPENS) + 1_000_000
  for (let journal = 2; received < CLOSES; journal++) {
    const at = { received: toMicros(Math.floor(received)), journal }
    const source = (at.received - 20_000) as Micros
    book.step()
    const bids = book
      .levels('yes')
      .map(([cents, units]) => ({ price: price(cents), size: size(units) }))
    const asks = book
      .levels('no')
      .map(([cents, units]) => ({ price: price(100 - cents), size: size(units) }))
    const { instrument } = assembler
    // The assembler keeps what changed, so a whole book costs what a change does.
    const taken = assembler.take({ kind: 'snapshot', instrument, bids, asks, source, ...at })
    if (!('received' in taken)) throw new Error(taken.detail)
    rows.push(taken)
    received += random.exponential(step)
  }
  return rows
}
