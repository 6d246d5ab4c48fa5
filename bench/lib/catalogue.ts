import {
  deriveTerms,
  printContractId,
  VENUES,
  type Gap,
  type Instrument,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import type { MarketRevision, Micros, VenueId } from '@priorbook/sdk/domain'
import { ABSENT, type Observation } from '@priorbook/sdk/tape'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'

const ASSETS = ['BTC', 'ETH', 'SOL', 'XRP', 'BNB', 'DOGE'] as const
const WINDOWS = [
  ['5m', 300],
  ['15m', 900],
  ['1h', 3600],
] as const
// A venue gives markets of one kind one heading.
const CATEGORIES = ['Crypto', 'Crypto', 'Politics', 'Sports', 'Economics', 'Weather'] as const
/** Rounds of one batch of the writer. */
export const BATCH = 1000
// Rounds of the last minutes are open; one in a hundred closed and is not resolved yet.
const OPEN = 200

/** When the first round opens. */
export const BEGIN = Date.UTC(2026, 0, 1) * 1000

/** A catalogue: where it ends, and names to ask for. */
export type Catalogue = {
  readonly end: number
  readonly series: readonly string[]
  readonly events: readonly string[]
  readonly markets: readonly string[]
  readonly contracts: readonly string[]
}

/** What a catalogue of a number of markets holds. */
export function describeCatalogue(venue: VenueId, markets: number): Catalogue {
  const some = Array.from({ length: 500 }, (_, index) => {
    return roundOf(venue, Math.floor((markets * index) / 500), markets).record
  })
  const series = new Set(some.map(({ seriesTicker }) => seriesTicker!))
  return {
    end: BEGIN + markets * 1e6,
    series: [...series],
    events: some.map(({ eventTicker }) => eventTicker!),
    markets: some.map(({ marketId }) => marketId),
    contracts: some.map((record) => printContractId(deriveTerms(record)!.subject)),
  }
}

/**
 * Writes rounds of one venue with two books each, one row a book, through the store's own writer, as a
 * recorder does: each market opens and resolves, and each book is closed by a gap `market_closed`.
 */
export async function writeCatalogue(
  file: string,
  venue: VenueId,
  markets: number,
  log: (done: number) => void,
): Promise<void> {
  const store = openEmbeddedStore({ file })
  const made = { venue, origin: 'emulator', recorder: 'bench', normalizer: 1 } as const
  const facts = { [`capture_started:${venue}`]: BEGIN }
  let position = 0
  try {
    for (let first = 0; first < markets; first += BATCH) {
      const count = Math.min(BATCH, markets - first)
      const rounds = Array.from({ length: count }, (_, index) =>
        roundOf(venue, first + index, markets),
      )
      const opened = ++position
      await store.append({
        ...made,
        position: opened,
        revisions: rounds.map(({ record, open }) => revisionOf(record, open, opened, 'open')),
        observations: rounds.flatMap(({ rows }) =>
          rows.map((row) => ({ ...row, journal: opened })),
        ),
        ...(first === 0 ? { facts } : {}),
      })
      const ended = rounds.filter(({ record }) => record.status !== 'open')
      const closed = ++position
      await store.append({
        ...made,
        position: closed,
        revisions: ended.map(({ record, close }) => revisionOf(record, close, closed)),
        gaps: ended.flatMap(({ gaps }) => gaps.map((gap) => ({ ...gap, journal: closed }))),
      })
      log(first + count)
    }
    await store.seal()
  } finally {
    await store.close()
  }
}

function revisionOf(
  record: MarketRecord,
  received: Micros,
  journal: number,
  status = record.status,
): MarketRevision {
  const said = status === undefined ? record : { ...record, status }
  return { kind: 'market', received, journal, record: said }
}

/** One round with its rows and gaps. */
export type Round = {
  readonly record: MarketRecord
  readonly open: Micros
  readonly close: Micros
  readonly rows: readonly Omit<Observation, 'journal'>[]
  readonly gaps: readonly Omit<Gap, 'journal'>[]
}

/** A round by its number. */
export function roundOf(venue: VenueId, index: number, markets: number): Round {
  const asset = ASSETS[index % ASSETS.length]!
  const [window, seconds] = WINDOWS[Math.floor(index / ASSETS.length) % WINDOWS.length]!
  const open = (BEGIN + index * 1e6) as Micros
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
    event: { title: `${asset} in ${window}, rounds from ${index - (index % 8)}` },
    category: CATEGORIES[index % CATEGORIES.length]!,
    // Of all markets, of one in a hundred, and of one in 5,000.
    tags: ['Rounds', `Hundred ${index % 100}`, `Rare ${index % 5000}`],
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
  return { record, open, close, rows, gaps }
}

function closedAt(venue: VenueId, key: string, start: Micros): Omit<Gap, 'journal'> {
  return { venue, scope: 'instrument', key, reason: 'market_closed', start, afterSequence: 1 }
}
