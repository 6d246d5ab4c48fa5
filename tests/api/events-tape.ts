import {
  parseMicros,
  parsePrice,
  parseSize,
  VENUES,
  type Instrument,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** Noon of the day on which the events are recorded. */
const NOON = parseMicros('2026-08-05T12:00:00Z')

/** Seconds after noon. */
export function at(seconds: number): Micros {
  return (NOON + seconds * 1_000_000) as Micros
}

/** The events of the tape. */
export const ELECTION = 'KXPRES-28'
export const MATCH = '77001'
/** A round of venue A and an event of venue C have this id. */
export const SHARED_ID = '4001'

/** The tokens of a market of venue C, Yes and No. */
function tokensOf(number: number): readonly [string, string] {
  return [`8${String(number).padStart(30, '1')}`, `9${String(number).padStart(30, '2')}`]
}

/** The condition id of a market of venue C. */
export function conditionOf(number: number): string {
  return `0x${number.toString(16).padStart(64, 'e')}`
}

const SHARED = { resolution: { state: 'none' }, native: {}, volume: '100' } as const

function candidate(name: string, more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    ...SHARED,
    venue: 'venueb',
    marketId: `${ELECTION}-${name.toUpperCase()}`,
    title: `Will ${name} win the presidential election?`,
    status: 'open',
    openTime: at(0),
    closeTime: at(86_400),
    outcomes: [
      { label: 'Yes', index: 0 },
      { label: 'No', index: 1 },
    ],
    units: VENUES.venueb.units,
    eventTicker: ELECTION,
    seriesTicker: 'KXPRES',
    event: { title: 'Who wins the presidential election?', outcome: name, isExclusive: true },
    category: 'Politics',
    tags: ['US', 'Elections'],
    ...more,
  }
}

function team(number: number, name: string, more: Partial<MarketRecord> = {}): MarketRecord {
  const [yes, no] = tokensOf(number)
  return {
    ...SHARED,
    venue: 'venuec',
    marketId: conditionOf(number),
    conditionId: conditionOf(number),
    title: `${name} to win the match`,
    status: 'open',
    openTime: at(10),
    closeTime: at(7200),
    outcomes: [
      { label: 'Yes', index: 0, tokenId: yes },
      { label: 'No', index: 1, tokenId: no },
    ],
    units: VENUES.venuec.units,
    eventId: MATCH,
    slug: `match-${name.toLowerCase()}`,
    event: {
      title: 'Reds against Blues',
      slug: 'reds-against-blues',
      outcome: name,
      isExclusive: true,
      isNegRisk: true,
    },
    category: 'Sports',
    tags: ['World Cup'],
    ...more,
  }
}

const ROUND: MarketRecord = {
  ...team(4, 'Up'),
  title: 'Bitcoin up or down',
  eventId: SHARED_ID,
  asset: 'BTC',
  window: '5m',
  event: { title: 'Bitcoin up or down' },
  category: 'Crypto',
  tags: ['Crypto', '5M'],
}

/** The markets: an election of B, a match and a round of C, a round of A. */
const EVENT_RECORDS: readonly MarketRecord[] = [
  candidate('Ann'),
  candidate('Bob'),
  candidate('Cid'),
  candidate('Dee', { status: 'resolved', winningOutcome: 'No' }),
  candidate('Eve'),
  team(1, 'Reds'),
  team(2, 'Blues'),
  team(3, 'Draw'),
  ROUND,
  {
    ...SHARED,
    venue: 'venuea',
    marketId: '5001',
    title: 'BTC Up or Down',
    status: 'open',
    openTime: at(0),
    closeTime: at(300),
    outcomes: [{ label: 'Up', index: 0, tokenId: '9001' }],
    units: VENUES.venuea.units,
    topicId: SHARED_ID,
    asset: 'BTC',
    window: '5m',
  },
]

// Best prices by key and second; a book of one level per side, and none where a price is missing.
const BOOKS: readonly (readonly [key: string, second: number, bid: string, ask: string])[] = [
  [`${ELECTION}-ANN`, 60, '0.4', '0.42'],
  [`${ELECTION}-ANN`, 120, '0.51', '0.52'],
  [`${ELECTION}-BOB`, 60, '0.3', '0.35'],
  [`${ELECTION}-CID`, 60, '0.1', '0.12'],
  [`${ELECTION}-CID`, 90, '0.11', ''],
  [tokensOf(1)[0], 60, '0.45', '0.46'],
  [tokensOf(2)[0], 61, '0.3', '0.31'],
  [tokensOf(3)[0], 62, '0.22', '0.24'],
]

/** Writes the markets, their books, and an open gap of Bob's. */
export async function writeEvents(store: Store): Promise<void> {
  for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
    const records = EVENT_RECORDS.filter((record) => record.venue === venue)
    const revisions = records.map((record, index) => {
      return { kind: 'market', received: at(1), journal: index + 1, record } as const
    })
    const bob = `${ELECTION}-BOB`
    const gap = { venue, scope: 'instrument', key: bob, reason: 'disconnected' } as const
    await store.append({
      venue,
      position: 1000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions,
      observations: observationsOf(venue, records),
      gaps: venue === 'venueb' ? [{ ...gap, start: at(60), afterSequence: 1, journal: 900 }] : [],
    })
  }
}

function observationsOf(venue: VenueId, records: readonly MarketRecord[]): Observation[] {
  const made = new Map<string, BookAssembler>()
  const rows = BOOKS.flatMap(([key, second, bid, ask], index) => {
    const record = records.find(
      ({ marketId, outcomes }) =>
        marketId === key || outcomes.some(({ tokenId }) => tokenId === key),
    )
    if (record === undefined) return []
    const instrument: Instrument = { venue, market: record.marketId, key }
    const assembler = made.get(key) ?? new BookAssembler(instrument)
    made.set(key, assembler)
    const row = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: levels(venue, bid),
      asks: levels(venue, ask),
      received: at(second),
      journal: 100 + index,
    })
    if (!('received' in row)) throw new Error(`no book of ${key}`)
    return [row]
  })
  return rows.toSorted((a, b) => a.received - b.received)
}

function levels(venue: VenueId, price: string) {
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  if (price === '') return []
  return [{ price: parsePrice(price, priceDecimals), size: parseSize('10', sizeDecimals) }]
}
