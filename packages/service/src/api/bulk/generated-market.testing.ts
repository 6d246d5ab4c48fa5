import {
  toMicros,
  VENUES,
  type BookChange,
  type Instrument,
  type Level,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import type { AppendBatch } from '../../store/store.ts'

/** When the first row of a generated market was received. */
export const MADE_START = Date.UTC(2026, 7, 11) * 1000

const INSTRUMENT: Instrument = { venue: 'venueb', market: 'KXMADE-1', key: 'KXMADE-1' }
const BATCH = 5000

/** One market of venue B with so many observations of books of about 46 levels, 20 ms apart. */
export function* makeMarket(rows: number): Generator<AppendBatch> {
  const assembler = new BookAssembler(INSTRUMENT)
  let seed = 7
  const draw = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return (seed >>> 8) % below
  }
  for (let first = 0; first < rows; first += BATCH) {
    const observations: Observation[] = []
    for (let row = first; row < Math.min(rows, first + BATCH); row++) {
      const head = {
        instrument: INSTRUMENT,
        received: toMicros(MADE_START + row * 20_000),
        source: toMicros(MADE_START + row * 20_000 - 3000),
        venueSeq: row + 1,
        channel: 65_536 + 2,
        journal: row + 1,
      }
      const taken = assembler.take(
        row === 0
          ? { kind: 'snapshot', ...head, bids: side(-1, 23), asks: side(1, 23) }
          : { kind: 'change', ...head, changes: [changeOf(draw)], signed: false },
      )
      if ('violation' in taken) throw new Error(taken.violation)
      observations.push(taken)
    }
    const position = first + observations.length
    yield {
      venue: 'venueb',
      position,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      observations,
      ...(first === 0 ? { revisions: [REVISION] } : {}),
    }
  }
}

function side(direction: 1 | -1, levels: number): Level[] {
  return Array.from({ length: levels }, (_, index) => ({
    price: (5000 + direction * (index + 1) * 100) as PriceTicks,
    size: (10_000 + index * 375) as SizeUnits,
  }))
}

function changeOf(draw: (below: number) => number): BookChange['changes'][number] {
  const isBid = draw(2) === 0
  const price = (5000 + (isBid ? -1 : 1) * (1 + draw(24)) * 100) as PriceTicks
  const size = (draw(12) === 0 ? 0 : 100 * (1 + draw(5000))) as SizeUnits
  return { side: isBid ? 'bid' : 'ask', price, size }
}

const REVISION = {
  kind: 'market',
  received: toMicros(MADE_START),
  journal: 1,
  record: {
    venue: 'venueb',
    marketId: INSTRUMENT.market,
    seriesTicker: 'KXMADE',
    eventTicker: 'KXMADE-1E',
    status: 'open',
    openTime: toMicros(MADE_START),
    outcomes: [
      { label: 'Yes', index: 0 },
      { label: 'No', index: 1 },
    ],
    units: VENUES.venueb.units,
    native: {},
  },
} as const
