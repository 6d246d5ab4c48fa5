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
import { roundOfA } from '../../packages/sdk/src/domain/contracts/records.testing.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** Noon, when the rounds open. */
const NOON = parseMicros('2026-08-09T12:00:00Z')

/** Seconds after noon. */
export function at(seconds: number): Micros {
  return (NOON + Math.round(seconds * 1_000_000)) as Micros
}

/** A round of venue C that was recorded for more than an hour, with the feed that it settles on. */
export const ROUND = `0x${'c7'.repeat(32)}`
/** A round of venue A with samples. */
export const SAMPLED = '8691520'
/** When recording began and ended. */
const RECORDED = { from: -3000, to: 899.9 } as const
/** Seconds in which nothing of the first outcome was received. */
export const GAP = { from: -1800, to: -1620 } as const
/** Seconds without a change: the book before them stays valid. */
export const QUIET = { from: -600, to: -300 } as const

/** How many gaps the round of venue A has: more than a table shows at once. */
export const MANY_GAPS = 30

const TOKENS = ['71', '72'] as const

const roundOfC: MarketRecord = {
  venue: 'venuec',
  marketId: ROUND,
  conditionId: ROUND,
  title: 'Bitcoin up or down, 12:00 to 12:15',
  status: 'resolved',
  openTime: at(0),
  closeTime: at(900),
  asset: 'BTC',
  window: '15m',
  strike: '64000',
  outcomes: [
    { label: 'Up', index: 0, tokenId: TOKENS[0] },
    { label: 'Down', index: 1, tokenId: TOKENS[1] },
  ],
  winningOutcome: 'Up',
  resolution: { state: 'final' },
  units: VENUES.venuec.units,
  native: {},
}

// Some books in every second, at odd instants.
const STEP = 0.7

function times(): number[] {
  const all: number[] = []
  for (let second: number = RECORDED.from; second <= RECORDED.to; second += STEP) {
    const isLost = second > GAP.from && second < GAP.to
    const isQuiet = second > QUIET.from && second < QUIET.to
    if (!isLost && !isQuiet) all.push(second)
  }
  return all
}

function booksOf(record: MarketRecord, key: string): Observation[] {
  const { venue, marketId: market } = record
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const instrument = { venue, market, key }
  const assembler = new BookAssembler(instrument)
  return times().map((second, index) => {
    const wave = Math.round(600 * Math.sin(second / 400)) + ((index * 7) % 40)
    const level = (units: number, size: number) => ({
      price: parsePrice((units / 10_000).toFixed(4), priceDecimals),
      size: parseSize(String(size), sizeDecimals),
    })
    const rungs = [0, 1, 2, 3, 4, 5, 6, 7]
    const made = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: rungs.map((rung) => level(4800 + wave - rung * 25, 10 + ((index + rung * 13) % 90))),
      asks: rungs.map((rung) => level(4900 + wave + rung * 25, 12 + ((index + rung * 29) % 70))),
      received: at(second),
      journal: 10 + index,
    })
    if (!('received' in made)) throw new Error('no book')
    return made
  })
}

function pricesOf(): Sample[] {
  const instrument = referenceInstrument('venuec', { feed: 'twap60', asset: 'BTC' })
  return times()
    .filter((_, index) => index % 2 === 0)
    .map((second) => ({
      kind: 'sample',
      instrument,
      metric: 'price',
      value: (64_000 + 80 * Math.sin(second / 300)).toFixed(3),
      received: at(second + 0.05),
      journal: 9000,
    }))
}

function samplesOf({ marketId, outcomes }: MarketRecord): Sample[] {
  const key = outcomes[0]!.tokenId!
  const instrument = { venue: 'venuea', market: marketId, key } as const
  return times()
    .filter((_, index) => index % 9 === 0)
    .flatMap((second, index) =>
      ['chance', 'price', 'last_trade'].map((metric, place) => ({
        kind: 'sample' as const,
        instrument,
        metric,
        value: (0.4 + ((index * 3 + place * 11) % 200) / 1000).toFixed(4),
        received: at(second + 0.01 * place),
        journal: 9000,
      })),
    )
}

/** Writes both rounds. */
export async function writeCharts(store: Store): Promise<void> {
  const made = { origin: 'live', recorder: 'r1', normalizer: 1, position: 20_000 } as const
  await store.append({
    ...made,
    venue: 'venuec',
    revisions: [{ kind: 'market', record: roundOfC, received: at(-3600), journal: 1 }],
    observations: TOKENS.flatMap((token) => booksOf(roundOfC, token)),
    samples: pricesOf(),
    gaps: TOKENS.map((key) => ({
      venue: 'venuec',
      scope: 'instrument',
      key,
      reason: 'disconnected',
      start: at(lastBefore(GAP.from)),
      end: at(times().find((second) => second >= GAP.to)!),
      afterSequence: times().filter((second) => second <= GAP.from).length,
      journal: 9100,
      endJournal: 9200,
    })),
  })
  const record = roundOfA({
    title: 'Bitcoin up or down',
    status: 'resolved',
    openTime: at(0),
    closeTime: at(900),
  })
  await store.append({
    ...made,
    venue: 'venuea',
    revisions: [{ kind: 'market', record, received: at(-3600), journal: 1 }],
    observations: booksOf(record, record.marketId),
    samples: samplesOf(record),
    gaps: Array.from({ length: MANY_GAPS }, (_, index) => {
      // From one book to the next one.
      const [start = 0, end = 0] = times().slice((index + 1) * 100)
      return {
        venue: 'venuea',
        scope: 'instrument',
        key: record.marketId,
        reason: 'disconnected',
        start: at(start),
        end: at(end),
        afterSequence: (index + 1) * 100 + 1,
        journal: 9100 + index,
        endJournal: 9200 + index,
      }
    }),
  })
}

// A gap begins with the last good book.
function lastBefore(end: number): number {
  return times().findLast((second) => second <= end)!
}
