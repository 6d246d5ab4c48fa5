import { VENUES, type MarketRecord, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { createRandom } from '../../lib/random.testing.ts'
import type { Store } from '../store.ts'

/** The open time of the first market of a test catalogue. */
export const CATALOGUE_BEGIN = 1_790_000_000_000_000

const MADE = { origin: 'live', recorder: 'r1', normalizer: 1 } as const

/** Writes markets of all venues; the last 40 are open. */
export async function fillCatalogue(store: Store, markets: number): Promise<MarketRecord[]> {
  const random = createRandom(11)
  const records = Array.from({ length: markets }, (_, index) => recordOf(index, markets, random))
  for (const venue of ['venuea', 'venueb', 'venuec'] as VenueId[]) {
    const own = records.filter((record) => record.venue === venue)
    const revisions = own.map((record, at) => ({
      kind: 'market' as const,
      received: CATALOGUE_BEGIN as Micros,
      journal: at + 1,
      record,
    }))
    await store.append({ ...MADE, venue, position: own.length, revisions })
  }
  return records
}

function recordOf(index: number, markets: number, random: () => number): MarketRecord {
  const venue = (['venuea', 'venueb', 'venuec'] as const)[index % 3]!
  const asset = ['BTC', 'ETH', 'ÖL'][Math.floor(random() * 3)]!
  const open = (CATALOGUE_BEGIN + Math.floor(index / 7) * 1_000_000) as Micros
  // Only letters: inside words as long as this one, searches by a number find nothing.
  const digits = index.toString(6).replaceAll(/\d/g, (digit) => 'abcdef'[Number(digit)]!)
  const hash = digits.padStart(64, 'a')
  const named = { seriesTicker: `KX${asset}`, eventTicker: `KX${asset}-${index >> 3}` }
  return {
    venue,
    marketId: venue === 'venuec' ? `0x${hash}` : `KX${asset}-${index}-T${index * 37}.99`,
    title: `${asset} up or down? Round ${index}`,
    slug: `${asset.toLowerCase()}-updown-5m-${1_790_000_000 + index * 300}`,
    status: index > markets - 40 ? 'open' : 'resolved',
    openTime: open,
    closeTime: (open + 300_000_000) as Micros,
    volume: String(Math.floor(random() * 1e6)),
    ...(venue === 'venueb' ? named : {}),
    asset,
    window: index % 4 === 0 ? '15m' : '5m',
    outcomes: [],
    units: VENUES[venue].units,
    native: {},
  }
}
