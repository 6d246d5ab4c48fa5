import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { ListedFacts, MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import type { Listed } from './listed.ts'

// In the order of the ids: SQLite reads the left side of a cross join first.
const FACTS = `SELECT listing.id, listing.open, listing.text, family.asset, line.series
  FROM json_each(?) AS one CROSS JOIN listing ON listing.id = one.value
  CROSS JOIN family ON family.id = listing.family LEFT JOIN family AS line ON line.id = listing.line`

/** The markets of a list that the caller chooses by what the list knows of them. */
export function chooseListed(
  database: Database,
  found: readonly Listed[],
  choose: NonNullable<MarketQuery['choose']>,
): Listed[] {
  const rows = database.columns(FACTS, JSON.stringify(found.map(({ id }) => id)))
  const facts = found.map(({ id, venue, name, value }, at): ListedFacts => {
    const [own, open, text, asset, series] = rows[at] ?? []
    if (own !== id) {
      throw new PriorbookError('corrupt_row', `the list of markets is damaged at ${name}`)
    }
    return {
      venue: venue as VenueId,
      marketId: name,
      asset: (asset as string) || undefined,
      series: (series as string | null) ?? undefined,
      text: text as string,
      sortTime: open as number,
      sortValue: value,
    }
  })
  const chosen = new Set(choose(facts))
  return found.filter((_, at) => chosen.has(facts[at]!))
}
