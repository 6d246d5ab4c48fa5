import { VENUES, type Gap, type Instrument, type MarketRecord } from '@priorbook/sdk/domain'
import type { MarketRevision, Micros, VenueId } from '@priorbook/sdk/domain'
import { ABSENT, type Observation } from '@priorbook/sdk/tape'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'

const ASSETS = ['BTC', 'ETH', 'SOL', 'XRP', 'BNB', 'DOGE'] as const
const WINDOWS = [
  ['5m', 300],
  ['15m', 900],
  ['1h', 3600],
] as const
const BATCH = 1000
// Rounds of the last minutes are open; one in a hundred closed and is not resolved yet.
const OPEN = 200

/** A catalogue that was written: where it ends, and names to ask for. */
export type Catalogue = {
  readonly end: number
  readonly series: readonly string[]
  readonly events: readonly string[]
  readonly markets: readonly string[]
}

/**
 * Writes rounds of one venue with two books each, one row a book, as a recorder would have: each market
 * with its revisions of open and resolved, and each book closed by a gap `market_closed`.
 */
export async function writeCatalogue(
  file: string,
  venue: VenueId,
  markets: number,
  log: (done: number) => void,
): Promise<Catalogue> {
  const store = openEmbeddedStore({ file })
  const series = new Set<string>()
  const names: string[] = []
  const events: string[] = []
  const begin = Date.UTC(2026, 0, 1) * 1000
  let position = 0
  try {
    for (let first = 0; first < markets; first += BATCH) {
      const count = Math.min(BATCH, markets - first)
      const rounds = Array.from({ length: count }, (_, index) =>
        roundOf(venue, first + index, markets, begin),
      )
      const journal = ++position
      await store.append({
        venue,
        position: journal,
        origin: 'emulator',
        recorder: 'bench',
        normalizer: 1,
        revisions: rounds.map((round) => ({ ...round.revision, journal })),
        observations: rounds.flatMap(({ rows }) => rows.map((row) => ({ ...row, journal }))),
        gaps: rounds.flatMap(({ gaps }) => gaps.map((gap) => ({ ...gap, journal }))),
        ...(first === 0 ? { facts: { [`capture_started:${venue}`]: begin } } : {}),
      })
      const { record } = rounds[0]!.revision
      series.add(record.seriesTicker!)
      if (names.length < 500) names.push(record.marketId)
      if (events.length < 500) events.push(record.eventTicker!)
      log(first + count)
    }
    await store.seal()
  } finally {
    await store.close()
  }
  return { end: begin + markets * 1e6, series: [...series], events, markets: names }
}

type Round = {
  readonly revision: Omit<MarketRevision, 'journal'>
  readonly rows: readonly Omit<Observation, 'journal'>[]
  readonly gaps: readonly Omit<Gap, 'journal'>[]
}

function roundOf(venue: VenueId, index: number, markets: number, begin: number): Round {
  const asset = ASSETS[index % ASSETS.length]!
  const [window, seconds] = WINDOWS[Math.floor(index / ASSETS.length) % WINDOWS.length]!
  const open = (begin + index * 1e6) as Micros
  const close = (open + seconds * 1e6) as Micros
  const isOpen = index >= markets - OPEN
  const marketId = `0x${index.toString(16).padStart(40, '0')}`
  const tokens = [0, 1].map((outcome) => `${7_000_000_000 + index * 2 + outcome}`)
  const record: MarketRecord = {
    venue,
    marketId,
    title: `${asset} up or down, ${window} round ${index}`,
    status: isOpen ? 'open' : index % 100 === 0 ? 'closed' : 'resolved',
    openTime: open,
    closeTime: close,
    seriesTicker: `${asset}-${window}`,
    eventTicker: `${asset}-${window}-${index - (index % 8)}`,
    asset,
    window,
    volume: String((index * 7919) % 1_000_003),
    liquidity: String((index * 104_729) % 500_009),
    outcomes: tokens.map((tokenId, at) => ({
      label: at === 0 ? 'Up' : 'Down',
      index: at,
      tokenId,
    })),
    units: VENUES[venue].units,
    native: { id: marketId, question: `Will ${asset} rise in round ${index}?`, tokens },
  }
  const instruments = tokens.map((key): Instrument => ({ venue, market: marketId, key }))
  const rows = instruments.map((instrument) => ({
    instrument,
    received: open,
    source: open,
    venueSeq: ABSENT,
    channel: ABSENT,
    flags: 3,
    priceDecimals: 2,
    keys: [40 * 2, 60 * 2 + 1],
    sizes: [1000, 1000],
  }))
  const gaps = isOpen ? [] : tokens.map((key) => closedAt(venue, key, close))
  return { revision: { kind: 'market', received: open, record }, rows, gaps }
}

function closedAt(venue: VenueId, key: string, start: Micros): Omit<Gap, 'journal'> {
  return { venue, scope: 'instrument', key, reason: 'market_closed', start, afterSequence: 1 }
}
