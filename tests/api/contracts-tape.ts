import {
  parsePrice,
  parseSize,
  VENUES,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../../packages/sdk/src/domain/index.ts'
import {
  OPENS,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../packages/sdk/src/domain/contracts/records.testing.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** The contract of the tape: one round on three venues. */
export const ROUND = 'btc-15m-up-down-20261117T174500Z'

/** A time in seconds after the round began. */
export function after(seconds: number): Micros {
  return (OPENS + Math.round(seconds * 1_000_000)) as Micros
}

type Levels = readonly (readonly [price: string, size: string])[]
type ScriptedBook = readonly [second: number, bids: Levels, asks: Levels]

/** The books of each venue; that of venue B was not observed from second 30 to second 40. */
const BOOKS: Readonly<Record<VenueId, readonly ScriptedBook[]>> = {
  venuea: [
    [
      1,
      [
        ['0.48', '10.5'],
        ['0.47', '20'],
      ],
      [
        ['0.52', '5'],
        ['0.55', '100'],
      ],
    ],
    [
      50,
      [['0.46', '10.5']],
      [
        ['0.5', '5'],
        ['0.55', '100'],
      ],
    ],
  ],
  venueb: [
    [10, [['0.40', '10']], [['0.45', '20']]],
    [30, [['0.40', '9']], [['0.45', '20']]],
    [
      40,
      [['0.41', '10']],
      [
        ['0.44', '1'],
        ['0.45', '2'],
        ['0.46', '3.33'],
      ],
    ],
  ],
  venuec: [
    [5, [['0.5', '100']], [['0.6', '50.123456']]],
    [60, [['0.4', '100']], [['0.6', '50.123456']]],
  ],
}

/** The gap of venue B, in seconds. */
export const GAP = { from: 30, to: 40 }

const ROUNDS = { venuea: roundOfA, venueb: roundOfB, venuec: roundOfC } as const

/** Writes the round of all three venues. */
export async function writeContract(store: Store): Promise<void> {
  for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
    const record = ROUNDS[venue]()
    await store.append({
      venue,
      position: 1000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions: [{ kind: 'market', record, received: after(-600), journal: 1 }],
      observations: observationsOf(record),
      gaps: venue === 'venueb' ? [gapOf(record)] : [],
      facts: { [`capture_started:${venue}`]: after(-3600) },
    })
  }
}

function keyOf({ venue, marketId, outcomes }: MarketRecord): string {
  return VENUES[venue].booksPer === 'token' ? outcomes[0]!.tokenId! : marketId
}

function gapOf(record: MarketRecord): Gap {
  return {
    venue: record.venue,
    scope: 'instrument',
    key: keyOf(record),
    reason: 'disconnected',
    start: after(GAP.from),
    end: after(GAP.to),
    afterSequence: 2,
    journal: 500,
  }
}

function observationsOf(record: MarketRecord): Observation[] {
  const { venue, marketId: market } = record
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const instrument = { venue, market, key: keyOf(record) }
  const assembler = new BookAssembler(instrument)
  const levels = (side: Levels) =>
    side.map(([price, size]) => ({
      price: parsePrice(price, priceDecimals),
      size: parseSize(size, sizeDecimals),
    }))
  return BOOKS[venue].map(([second, bids, asks], index) => {
    if (venue === 'venueb' && second === GAP.to) {
      assembler.close()
      assembler.markGap()
    }
    const row = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: levels(bids),
      asks: levels(asks),
      received: after(second),
      journal: 100 + index,
    })
    if (!('received' in row)) throw new Error(row.detail)
    return row
  })
}
