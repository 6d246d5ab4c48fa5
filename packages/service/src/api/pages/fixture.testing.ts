import {
  parseMicros,
  parsePrice,
  parseSize,
  VENUES,
  type Gap,
  type Instrument,
  type MarketRecord,
  type Micros,
  type Sample,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import type { Store } from '../../store/store.ts'
import { SCRIPTED_VENUES, type ScriptedVenue } from '../../store/store-script.testing.ts'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Noon of the fixture's day. */
export const NOON = parseMicros('2026-08-05T12:00:00Z')
/** A second. */
export const SECOND = 1_000_000
const MINUTE = 60 * SECOND

/** The times of the fixture: seconds after noon. */
export function at(seconds: number): Micros {
  return (NOON + seconds * SECOND) as Micros
}

/** The markets that have rows. */
export const A_MARKET = '5001'
export const A_TOKENS = ['9001', '9002'] as const
export const B_MARKET = 'KXBTC15M-26AUG051215-15'
export const C_MARKET = `0x${'c1'.repeat(32)}`
export const C_TOKENS = [`7${'1'.repeat(40)}`, `7${'2'.repeat(40)}`] as const

/** A record of venue A with every attribute of the interface document. */
export const FULL_A: MarketRecord = {
  venue: 'venuea',
  marketId: A_MARKET,
  title: 'BTC Up or Down',
  status: 'resolved',
  statusNative: 'RESOLVED',
  openTime: at(0),
  closeTime: at(300),
  resolvedTime: at(310),
  createdTime: at(-600),
  resolution: {
    state: 'final',
    source: 'CHAINLINK',
    reference: { feed: 'BTCUSD', startPrice: '114000.5', endPrice: '114001.25' },
    payouts: ['1', '0'],
    times: { determined: at(305), settled: at(310) },
  },
  winningOutcome: 'Up',
  volume: '12345.678901234567891',
  liquidity: '999.5',
  participantCount: 42,
  outcomes: [
    { label: 'Up', index: 0, tokenId: A_TOKENS[0], externalId: '77' },
    { label: 'Down', index: 1, tokenId: A_TOKENS[1], externalId: '77' },
  ],
  units: VENUES.venuea.units,
  topicId: '4001',
  conditionId: `0x${'aa'.repeat(32)}`,
  questionId: `0x${'bb'.repeat(32)}`,
  question: 'Will BTC go up?',
  slug: 'btc-updown-5m-1785931200',
  asset: 'BTC',
  window: '5m',
  chain: '56',
  exchangeContract: '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689',
  native: { topic: { feeRateBps: 200 }, market: { marketId: 5001 } },
}

/** A record of venue B. */
const FULL_B: MarketRecord = {
  venue: 'venueb',
  marketId: B_MARKET,
  title: 'BTC above 114,000?',
  status: 'open',
  statusNative: 'active',
  openTime: at(0),
  closeTime: at(900),
  resolution: { state: 'none' },
  volume: '100',
  outcomes: [
    { label: 'Yes', index: 0 },
    { label: 'No', index: 1 },
  ],
  units: VENUES.venueb.units,
  eventTicker: 'KXBTC15M-26AUG051215',
  seriesTicker: 'KXBTC15M',
  settlement: {},
  native: { market: { ticker: B_MARKET } },
}

/** A record of venue C. */
const FULL_C: MarketRecord = {
  venue: 'venuec',
  marketId: C_MARKET,
  title: 'Bitcoin Up or Down',
  status: 'open',
  statusNative: 'active',
  openTime: at(0),
  closeTime: at(300),
  resolution: { state: 'none' },
  volume: '5000.5',
  outcomes: [
    { label: 'Up', index: 0, tokenId: C_TOKENS[0] },
    { label: 'Down', index: 1, tokenId: C_TOKENS[1] },
  ],
  units: VENUES.venuec.units,
  eventId: '31001',
  conditionId: C_MARKET,
  gammaMarketId: '510001',
  slug: `btc-updown-5m-${NOON / SECOND}`,
  asset: 'BTC',
  window: '5m',
  native: { gamma: { feesEnabled: true, feeSchedule: { rate: 0.07, exponent: 1 } } },
}

/** The gaps that were written, in the order of the list. */
export const GAPS: readonly Gap[] = [
  gap('venueb', 'instrument', B_MARKET, 'disconnected', 30, 40, 3),
  gap('venuec', 'venue', '', 'recorder_down', 100, 110, 0),
  gap('venuea', 'instrument', A_MARKET, 'market_closed', 300, undefined, 5),
]

/** A store with markets, books, trades, samples and gaps of all venues; closed with the test. */
export async function createCatalogueStore(): Promise<Store> {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  for (const venue of SCRIPTED_VENUES) {
    const records = RECORDS.filter((record) => record.venue === venue)
    const first = { ...records[0]!, status: 'open' as const, volume: '1' }
    let journal = 0
    const revision = (record: MarketRecord, received: Micros) =>
      ({ kind: 'market', record, received, journal: ++journal }) as const
    const revisions = [
      revision(first, at(-60)),
      ...records.map((record) => revision(record, at(-30))),
      revision({ ...records[0]!, liquidity: '7' }, at(20)),
      revision(records[0]!, at(320)),
    ]
    await store.append({
      venue,
      position: 1000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions,
      observations: OBSERVATIONS[venue](),
      trades: TRADES.filter(({ instrument }) => instrument.venue === venue),
      samples: venue === 'venuea' ? samples() : [],
      gaps: GAPS.filter((one) => one.venue === venue),
      facts: { [`capture_started:${venue}`]: at(-3600) },
    })
  }
  return store
}

function variant(base: MarketRecord, id: string, changes: Partial<MarketRecord>): MarketRecord {
  return { ...base, marketId: id, ...changes }
}

const LATER = { openTime: at(300), closeTime: at(600), status: 'scheduled' } as const

/** Every market, the one with rows first. */
export const RECORDS: readonly MarketRecord[] = [
  FULL_A,
  variant(FULL_A, '5002', { ...LATER, winningOutcome: 'Down' }),
  variant(FULL_A, '5003', { window: '15m', closeTime: at(900), status: 'open' }),
  variant(FULL_A, '5004', { asset: 'ETH', topicId: '4004' }),
  variant(FULL_A, '5005', { asset: 'BNB', topicId: '4005' }),
  FULL_B,
  variant(FULL_B, 'KXBTC15M-26AUG051230-30', {
    openTime: at(900),
    closeTime: at(1800),
    status: 'scheduled',
    eventTicker: 'KXBTC15M-26AUG051230',
    volume: '300',
  }),
  variant(FULL_B, 'KXETH15M-26AUG051215-15', {
    seriesTicker: 'KXETH15M',
    eventTicker: 'KXETH15M-26AUG051215',
    volume: '200',
  }),
  FULL_C,
  variant(FULL_C, `0x${'c2'.repeat(32)}`, {
    ...LATER,
    conditionId: `0x${'c2'.repeat(32)}`,
    slug: `btc-updown-5m-${NOON / SECOND + 300}`,
    outcomes: [],
  }),
  variant(FULL_C, `0x${'e1'.repeat(32)}`, {
    conditionId: `0x${'e1'.repeat(32)}`,
    asset: 'ETH',
    slug: `eth-updown-5m-${NOON / SECOND}`,
    outcomes: [],
  }),
]

type Side = readonly (readonly [price: string, size: string])[]

function book(assembler: BookAssembler, seconds: number, bids: Side, asks: Side): Observation {
  const { priceDecimals, sizeDecimals } = VENUES[assembler.instrument.venue]
  const levels = (side: Side) =>
    side.map(([price, size]) => ({
      price: parsePrice(price, priceDecimals),
      size: parseSize(size, sizeDecimals),
    }))
  const taken = assembler.take({
    kind: 'snapshot',
    instrument: assembler.instrument,
    bids: levels(bids),
    asks: levels(asks),
    received: at(seconds),
    source: (at(seconds) - 1000) as Micros,
    journal: 100 + seconds,
  })
  if (!('received' in taken)) throw new Error(taken.detail)
  return taken
}

const OBSERVATIONS: Readonly<Record<ScriptedVenue, () => Observation[]>> = {
  venuea() {
    const assembler = new BookAssembler({ venue: 'venuea', market: A_MARKET, key: A_MARKET })
    return [1, 61, 121, 181, 241].map((seconds) =>
      book(
        assembler,
        seconds,
        [
          ['0.48', '10.5'],
          ['0.47', '20'],
        ],
        [
          ['0.52', '5'],
          ['0.55', '100'],
        ],
      ),
    )
  },
  venueb() {
    const assembler = new BookAssembler({ venue: 'venueb', market: B_MARKET, key: B_MARKET })
    const early = [10, 20, 30].map((seconds) =>
      book(assembler, seconds, [['0.40', '10']], [['0.45', '20']]),
    )
    assembler.close()
    assembler.markGap()
    const late = [40, 50].map((seconds) =>
      book(
        assembler,
        seconds,
        [
          ['0.41', '10'],
          ['0.40', '3'],
        ],
        [
          ['0.44', '1'],
          ['0.45', '2'],
          ['0.46', '3.33'],
        ],
      ),
    )
    return [...early, ...late]
  },
  venuec() {
    const [up, down] = C_TOKENS.map(
      (key) => new BookAssembler({ venue: 'venuec', market: C_MARKET, key }),
    ) as [BookAssembler, BookAssembler]
    return [5, 15, 25].flatMap((seconds) => [
      book(up, seconds, [['0.5', '100']], [['0.6', '50.123456']]),
      book(down, seconds, [['0.4', '50.123456']], [['0.5', '100']]),
    ])
  },
}

function trade(instrument: Instrument, seconds: number, id: string, taker?: 'buy' | 'sell'): Trade {
  const { priceDecimals, sizeDecimals } = VENUES[instrument.venue]
  return {
    kind: 'trade',
    instrument,
    tradeId: id,
    price: parsePrice('0.45', priceDecimals),
    size: parseSize('2.5', sizeDecimals),
    ...(taker === undefined ? {} : { taker }),
    received: at(seconds),
    source: (at(seconds) - 5000) as Micros,
    venueSeq: 7,
    channel: 3 * 65_536 + 2,
    journal: 200 + seconds,
  }
}

const B_INSTRUMENT: Instrument = { venue: 'venueb', market: B_MARKET, key: B_MARKET }

/** Trades of B and of both tokens of C, interleaved and with ties. */
const TRADES: readonly Trade[] = [
  ...[11, 21, 41, 51, 52].map((seconds, index) => ({
    ...trade(B_INSTRUMENT, seconds, `b${index + 1}`, index % 2 === 0 ? 'buy' : 'sell'),
    native: { taker_side: index % 2 === 0 ? 'yes' : 'no' },
  })),
  ...[6, 8, 8, 120, 130].map((seconds, index) =>
    trade(
      { venue: 'venuec', market: C_MARKET, key: C_TOKENS[index % 2]! },
      seconds,
      `c${index + 1}`,
      index === 4 ? undefined : 'sell',
    ),
  ),
]

function samples(): Sample[] {
  const rows: Sample[] = []
  for (const [index, metric] of (['chance', 'price', 'last_trade'] as const).entries()) {
    for (let step = 0; step < 5; step++) {
      for (const [place, key] of A_TOKENS.entries()) {
        // The last trade is known of the first outcome alone.
        if (metric === 'last_trade' && place === 1) continue
        rows.push({
          kind: 'sample',
          instrument: { venue: 'venuea', market: A_MARKET, key },
          metric,
          value: `0.${5 + index}${step}${place === 0 ? '1' : '2'}`,
          received: (at(0) + step * MINUTE) as Micros,
          journal: 300 + step,
        })
      }
    }
  }
  return rows
}

function gap(
  venue: VenueId,
  scope: Gap['scope'],
  key: string,
  reason: Gap['reason'],
  start: number,
  end: number | undefined,
  afterSequence: number,
): Gap {
  const span = { start: at(start), ...(end === undefined ? {} : { end: at(end), endJournal: 400 }) }
  return { venue, scope, key, reason, ...span, afterSequence, journal: 399 }
}
