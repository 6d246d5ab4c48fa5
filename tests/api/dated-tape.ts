import { mkdirSync } from 'node:fs'
import {
  toMicros,
  VENUES,
  type Instrument,
  type MarketRecord,
  type PriceTicks,
  type SizeUnits,
  type Trade,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'

/** The books of one instrument, one row after another. */
export type DatedRows = {
  readonly instrument: Instrument
  readonly start: number
  readonly rows: number
  readonly stepMicros: number
  /** Adds a trade after every `tradeEvery` rows. */
  readonly tradeEvery?: number
}

const CONDITION = `0x${'ab'.repeat(32)}`

/** The markets of the tape: B over midnight, B on one day, and C with two books. */
export const DATED = {
  over: { venue: 'venueb', market: 'KXOVER-26AUG12', key: 'KXOVER-26AUG12' },
  early: { venue: 'venueb', market: 'KXEARLY-26AUG11', key: 'KXEARLY-26AUG11' },
  late: { venue: 'venueb', market: 'KXLATE-26AUG11', key: 'KXLATE-26AUG11' },
  yes: { venue: 'venuec', market: CONDITION, key: '7001' },
  no: { venue: 'venuec', market: CONDITION, key: '7002' },
} as const satisfies Record<string, Instrument>

const at = (text: string): number => Date.parse(text) * 1000

/** What is recorded first: 2,600 rows over midnight, 1,100 before it, and two books of C. */
export const FIRST_ROWS: readonly DatedRows[] = [
  {
    instrument: DATED.over,
    start: at('2026-08-11T23:00:00Z'),
    rows: 2600,
    stepMicros: 2_000_000,
    tradeEvery: 2,
  },
  { instrument: DATED.early, start: at('2026-08-11T10:00:00Z'), rows: 1100, stepMicros: 50_000 },
  { instrument: DATED.yes, start: at('2026-08-11T12:00:00Z'), rows: 2100, stepMicros: 40_000 },
  { instrument: DATED.no, start: at('2026-08-11T12:00:00Z'), rows: 2100, stepMicros: 40_000 },
]

/** What arrives after both days were signed: rows of the first day. */
export const LATE_ROWS: readonly DatedRows[] = [
  { instrument: DATED.late, start: at('2026-08-11T20:00:00Z'), rows: 1500, stepMicros: 100_000 },
]

/** Appends rows to the tape of a data folder; the same rows give the same chunks. */
export async function writeDated(
  folder: string,
  streams: readonly DatedRows[],
  before = 0,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const store = openEmbeddedStore({ file: toDataFolder(folder).tape })
  try {
    let position = before
    for (const stream of streams) {
      const { venue } = stream.instrument
      const from = position + 1
      position += stream.rows
      await store.append({
        venue,
        position,
        origin: 'emulator',
        recorder: 'r1',
        normalizer: 1,
        observations: observe(stream, from),
        trades: trade(stream, from),
        revisions: [{ kind: 'market', record: recordOf(stream), ...placeOf(stream, from, 0) }],
      })
    }
    await store.seal()
  } finally {
    await store.close()
  }
}

function placeOf({ start, stepMicros }: DatedRows, from: number, row: number) {
  const received = toMicros(start + row * stepMicros)
  return { received, journal: from + row }
}

function observe(stream: DatedRows, from: number): Observation[] {
  const assembler = new BookAssembler(stream.instrument)
  const size = (units: number): SizeUnits => units as SizeUnits
  return Array.from({ length: stream.rows }, (_, row) => {
    const head = { instrument: stream.instrument, ...placeOf(stream, from, row), venueSeq: row + 1 }
    const level = (price: number) => ({ price: price as PriceTicks, size: size(10_000 + row) })
    const taken = assembler.take(
      row === 0
        ? { kind: 'snapshot', ...head, bids: [level(4900)], asks: [level(5100)] }
        : {
            kind: 'change',
            ...head,
            signed: false,
            changes: [
              { side: row % 2 === 0 ? 'bid' : 'ask', ...level(row % 2 === 0 ? 4800 : 5200) },
            ],
          },
    )
    if ('violation' in taken) throw new Error(taken.violation)
    return taken
  })
}

function trade(stream: DatedRows, from: number): Trade[] {
  const { tradeEvery, instrument, rows } = stream
  if (tradeEvery === undefined) return []
  return Array.from({ length: Math.floor(rows / tradeEvery) }, (_, index) => ({
    kind: 'trade' as const,
    instrument,
    ...placeOf(stream, from, index * tradeEvery),
    tradeId: `t${index}`,
    price: 5000 as PriceTicks,
    size: (100 + index) as SizeUnits,
    taker: index % 2 === 0 ? ('buy' as const) : ('sell' as const),
  }))
}

function recordOf({ instrument, start }: DatedRows): MarketRecord {
  const { venue, market: marketId } = instrument
  const isToken = VENUES[venue].booksPer === 'token'
  return {
    venue,
    marketId,
    status: 'open',
    openTime: toMicros(start),
    asset: 'BTC',
    ...(isToken ? { conditionId: marketId } : { seriesTicker: marketId.split('-')[0]! }),
    outcomes: ['Yes', 'No'].map((label, index) => ({
      label,
      index,
      ...(isToken ? { tokenId: index === 0 ? DATED.yes.key : DATED.no.key } : {}),
    })),
    units: VENUES[venue].units,
    native: {},
  }
}
