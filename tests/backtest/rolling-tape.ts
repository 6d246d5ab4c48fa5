import { join } from 'node:path'
import {
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../packages/sdk/src/domain/contracts/records.testing.ts'
import {
  parseMicros,
  parsePrice,
  parseSize,
  VENUES,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { EmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'

/** When the first round opens; rounds of 15 minutes follow each other over midnight. */
export const FIRST = parseMicros('2026-11-17T23:15:00Z')
export const WINDOW = 900_000_000

/** Seconds after the opening of a round at which each of its books was received. */
export const BOOK_SECONDS = Array.from({ length: 45 }, (_, index) => 5 + index * 20)

/** A round of the tape. */
export type Round = {
  readonly number: number
  readonly opens: number
  readonly closes: number
  /** The index of the outcome that pays. */
  readonly winner: 0 | 1
}

/** The rounds that follow each other. */
export function roundsOf(count: number): Round[] {
  return Array.from({ length: count }, (_, number) => {
    const opens = FIRST + number * WINDOW
    return { number, opens, closes: opens + WINDOW, winner: number % 3 === 0 ? 1 : 0 }
  })
}

/** The best ask of a book in cents: it moves with the round, the book and the venue. */
export function askCents(venue: VenueId, number: number, book: number): number {
  const shift = { venuea: 0, venueb: 1, venuec: 2 }[venue]
  return 30 + ((number * 7 + book * 3 + shift * 5) % 40)
}

/** The name of a venue's market of a round. */
export function marketOf(venue: VenueId, number: number): string {
  if (venue === 'venuea') return String(8_691_520 + number)
  if (venue === 'venueb') return `KXBTC15M-26NOV17-${String(number).padStart(3, '0')}`
  return `0x${(4096 + number).toString(16).padStart(64, '0')}`
}

/** Writes rounds of venues into a new tape; between rounds 1 and 2 venue B was not observed. */
export async function writeRounds(
  folder: string,
  rounds: readonly Round[],
  venues: readonly VenueId[],
): Promise<EmbeddedStore> {
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  for (const venue of venues) {
    const records = rounds.map((round) => recordOf(venue, round))
    await store.append({
      venue,
      position: 1_000_000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions: rounds.flatMap((round, index) => revisionsOf(records[index]!, round)),
      observations: rounds.flatMap((round, index) => booksOf(records[index]!, round)),
      gaps: venue === 'venueb' && rounds.length > 2 ? [gapOf(rounds[1]!)] : [],
      facts: { [`capture_started:${venue}`]: FIRST - 7_200_000_000 },
    })
  }
  return store
}

function recordOf(venue: VenueId, { number, opens, closes }: Round): MarketRecord {
  const more = {
    marketId: marketOf(venue, number),
    openTime: opens as Micros,
    closeTime: closes as Micros,
  }
  if (venue === 'venueb') return roundOfB(more)
  const token = (index: number): string => String(1000 + number * 2 + index)
  const outcomes = [
    { label: 'Up', index: 0, tokenId: token(0) },
    { label: 'Down', index: 1, tokenId: token(1) },
  ]
  if (venue === 'venuea') return roundOfA({ ...more, outcomes })
  return roundOfC({ ...more, outcomes, slug: `btc-updown-15m-${opens / 1e6}` })
}

function revisionsOf(record: MarketRecord, { number, opens, closes, winner }: Round) {
  const payouts = winner === 0 ? ['1', '0'] : ['0', '1']
  const resolved: MarketRecord = {
    ...record,
    status: 'resolved',
    winningOutcome: record.outcomes[winner]!.label,
    resolution: { ...record.resolution, state: 'final', payouts },
  }
  const journal = number * 10 + 1
  return [
    { kind: 'market', record, received: (opens - 60_000_000) as Micros, journal },
    {
      kind: 'market',
      record: resolved,
      received: (closes + 30_000_000) as Micros,
      journal: journal + 1,
    },
  ] as const
}

function booksOf(record: MarketRecord, { number, opens }: Round): Observation[] {
  const { venue, marketId: market } = record
  const { priceDecimals, sizeDecimals, booksPer } = VENUES[venue]
  const key = booksPer === 'token' ? record.outcomes[0]!.tokenId! : market
  const instrument = { venue, market, key }
  const assembler = new BookAssembler(instrument)
  const level = (cents: number) => ({
    price: parsePrice((cents / 100).toFixed(2), priceDecimals),
    size: parseSize('100', sizeDecimals),
  })
  return BOOK_SECONDS.map((second, book) => {
    const ask = askCents(venue, number, book)
    const row = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: [level(ask - 2)],
      asks: [level(ask)],
      received: (opens + second * 1_000_000) as Micros,
      journal: 5000 + number * 100 + book,
    })
    if (!('received' in row)) throw new Error(row.detail)
    return row
  })
}

function gapOf({ closes }: Round): Gap {
  return {
    venue: 'venueb',
    scope: 'venue',
    key: '',
    reason: 'disconnected',
    start: (closes - 10_000_000) as Micros,
    end: (closes + 1_000_000) as Micros,
    afterSequence: 0,
    journal: 9000,
  }
}
