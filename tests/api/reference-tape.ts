import {
  parseMicros,
  parsePrice,
  parseSize,
  referenceInstrument,
  VENUES,
  type MarketRecord,
  type Micros,
  type Sample,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** Noon of the day on which the round is recorded. */
const NOON = parseMicros('2026-08-09T12:00:00Z')

/** Seconds after noon, when the round opens. */
export function at(seconds: number): Micros {
  return (NOON + seconds * 1_000_000) as Micros
}

/** A round of fifteen minutes that settles on the feed `twap60`. */
export const ROUND = `0x${'c5'.repeat(32)}`
const STRIKE = '64000'
/** Seconds in which nothing of the feed was received. */
export const GAP = { from: 300, to: 480 } as const
const TOKENS = ['81', '82'] as const
const MADE = { venue: 'venuec', origin: 'live', recorder: 'r1', normalizer: 1 } as const

/** The price of a second: it rises through the strike. */
function priceAt(second: number): string {
  return `${63_950 + second / 4}`
}

const record: MarketRecord = {
  venue: 'venuec',
  marketId: ROUND,
  conditionId: ROUND,
  title: 'Bitcoin up or down, 12:00 to 12:15',
  status: 'resolved',
  openTime: at(0),
  closeTime: at(900),
  asset: 'BTC',
  window: '15m',
  strike: STRIKE,
  outcomes: [
    { label: 'Up', index: 0, tokenId: TOKENS[0] },
    { label: 'Down', index: 1, tokenId: TOKENS[1] },
  ],
  winningOutcome: 'Up',
  resolution: { state: 'final' },
  units: VENUES.venuec.units,
  native: {},
}

function booksOf(token: string): Observation[] {
  const instrument = { venue: 'venuec', market: ROUND, key: token } as const
  const assembler = new BookAssembler(instrument)
  return [0, 300, 600, 899].map((second, index) => {
    const made = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: [{ price: parsePrice(`0.4${index}`, 4), size: parseSize('10', 6) }],
      asks: [{ price: parsePrice(`0.5${index}`, 4), size: parseSize('10', 6) }],
      received: at(second),
      journal: 10 + index,
    })
    if (!('received' in made)) throw new Error('no book')
    return made
  })
}

function pricesOf(feed: string, isMeant: (second: number) => boolean): Sample[] {
  const seconds = Array.from({ length: 901 }, (_, second) => second).filter(isMeant)
  return seconds.map((second) => ({
    kind: 'sample',
    instrument: referenceInstrument('venuec', { feed, asset: 'BTC' }),
    metric: 'price',
    value: priceAt(second),
    received: at(second),
    source: at(second - 1),
    journal: 100,
  }))
}

/** Writes the round, its feed with a gap, and another feed without. */
export async function writeReferences(store: Store): Promise<void> {
  const { key } = referenceInstrument('venuec', { feed: 'twap60', asset: 'BTC' })
  await store.append({
    ...MADE,
    position: 200,
    revisions: [{ kind: 'market', record, received: at(0), journal: 1 }],
    observations: TOKENS.flatMap(booksOf),
    samples: [
      ...pricesOf('twap60', (second) => second <= GAP.from || second >= GAP.to),
      ...pricesOf('exchange', (second) => second % 10 === 0),
    ],
    gaps: [
      {
        venue: 'venuec',
        scope: 'instrument',
        key,
        reason: 'disconnected',
        start: at(GAP.from),
        end: at(GAP.to),
        afterSequence: 0,
        journal: 150,
        endJournal: 160,
      },
    ],
  })
}
