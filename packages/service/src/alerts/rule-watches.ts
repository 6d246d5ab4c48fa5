import { isBookRule, type AlertRule, type MarketScope } from '@priorbook/sdk/alerts'
import type { MarketRecord } from '@priorbook/sdk/domain'
import { findContract } from '../api/contracts/find.ts'
import { memberInstruments, recordAt } from '../api/contracts/member-book.ts'
import { planAsset } from '../api/markets/find.ts'
import { instrumentsOf } from '../api/markets/instruments.ts'
import type { ApiContext, Grant, StoredAlert } from '../api/route.ts'
import { VENUE_KEY } from '../rows/index.ts'
import { BookTrack } from './book-track.ts'
import { BookWatch } from './book-watch.ts'
import { GapWatch } from './gap-watch.ts'
import { measureBook, measureEdge } from './measure.ts'
import { ResolutionWatch } from './resolution-watch.ts'
import type { Watch } from './watch.ts'

/** A watch that has not been opened yet. */
export type NewWatch = Watch & { open(state: string | undefined, since: number): Promise<void> }

/** True where a rule watches every market of a family, also those that open later. */
export function isFamily(rule: AlertRule): rule is Exclude<AlertRule, { readonly kind: 'edge' }> {
  return rule.kind !== 'edge' && rule.scope.marketId === undefined
}

/** True for a market that a rule watches and its owner may read. */
export function isWatched(scope: MarketScope, grant: Grant, record: MarketRecord): boolean {
  const { venue, marketId, asset, window, series } = scope
  return (
    record.venue === venue &&
    (marketId ?? record.marketId) === record.marketId &&
    (asset === undefined || record.asset?.toUpperCase() === asset) &&
    (window === undefined || record.window === window) &&
    (series === undefined || record.seriesTicker === series) &&
    grant.allows(venue, planAsset(record))
  )
}

/** What a rule watches of one market. */
export async function watchesOf(
  context: ApiContext,
  { id, rule }: StoredAlert,
  record: MarketRecord,
): Promise<readonly NewWatch[]> {
  const { store, now } = context
  const { venue, marketId } = record
  if (rule.kind === 'edge') return []
  if (rule.kind === 'resolved') {
    return [new ResolutionWatch(id, rule, { venue, marketId }, store)]
  }
  const instruments = await instrumentsOf(context, record)
  if (rule.kind === 'gap') {
    const own = [...new Set([...instruments.map(({ key }) => key), marketId])]
    // A rule about a family fires once for a gap of the whole venue, not once for each market.
    const keys = isFamily(rule) ? own : [...own, VENUE_KEY]
    return [new GapWatch(id, rule, { venue, marketId, keys }, store, now)]
  }
  if (!isBookRule(rule)) return []
  const { outcome } = rule.scope
  const index = record.outcomes.find(({ label }) => label === outcome)?.index
  const chosen = instruments.filter((one) => outcome === undefined || one.index === index)
  return chosen.map(({ key }) => {
    const track = new BookTrack(store, { venue, key, marketId })
    return new BookWatch(id, track.name, rule, [track], measureBook(rule, track))
  })
}

/** What a rule watches beside single markets: the gaps of a venue, or the members of a contract. */
export async function commonWatchesOf(
  context: ApiContext,
  grant: Grant,
  { id, rule }: StoredAlert,
): Promise<readonly NewWatch[]> {
  const { store, now } = context
  if (rule.kind === 'gap' && isFamily(rule)) {
    const { venue } = rule.scope
    return [new GapWatch(id, rule, { venue, keys: [VENUE_KEY] }, store, now)]
  }
  if (rule.kind !== 'edge') return []
  const contract = await findContract(context, grant, rule.contractId)
  const members = (await memberInstruments(context, contract.members)).flatMap(
    ({ member, instrument, isComplement }) => {
      if (instrument === undefined) return []
      const { venue, marketId } = member.state.record
      const track = new BookTrack(store, { venue, key: instrument.key, marketId })
      return [{ track, isComplement, recordAt: (at: number) => recordAt(context, member, at) }]
    },
  )
  const tracks = members.map(({ track }) => track)
  return [new BookWatch(id, rule.contractId, rule, tracks, measureEdge(members))]
}
