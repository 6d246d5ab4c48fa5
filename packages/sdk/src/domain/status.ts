/** The statuses of a market, the same for all venues. */
export const MARKET_STATUSES = [
  'scheduled',
  'open',
  'paused',
  'closed',
  'determined',
  'disputed',
  'resolved',
  'voided',
] as const

/** One status. */
export type MarketStatus = (typeof MARKET_STATUSES)[number]

// scheduled → open ⇄ paused → closed → determined ⇄ disputed → resolved; closed → open when reopened;
// voided from anything before resolved. Polling can miss a step, so a later state may be reached
// directly; going back is allowed only where the venues do it.
const NEXT: Readonly<Record<MarketStatus, readonly MarketStatus[]>> = {
  scheduled: ['open', 'paused', 'closed', 'determined', 'disputed', 'resolved', 'voided'],
  open: ['paused', 'closed', 'determined', 'disputed', 'resolved', 'voided'],
  paused: ['open', 'closed', 'determined', 'disputed', 'resolved', 'voided'],
  closed: ['open', 'determined', 'disputed', 'resolved', 'voided'],
  determined: ['disputed', 'resolved', 'voided'],
  disputed: ['determined', 'resolved', 'voided'],
  resolved: [],
  voided: [],
}

/** True for the final statuses, which no venue leaves. */
export function isLastStatus(status: string): boolean {
  return MARKET_STATUSES.some((one) => one === status && NEXT[one].length === 0)
}

/** True once a market does not trade any more, unless its venue reopens it; its last book offers nothing. */
export function hasTradingEnded(status: string | null | undefined): boolean {
  return ENDED.has(status ?? '')
}

const ENDED: ReadonlySet<string> = new Set([
  'closed',
  'determined',
  'disputed',
  'resolved',
  'voided',
] satisfies MarketStatus[])

/** True where a market may move from one status to the other; staying is always legal. */
export function isLegalTransition(from: MarketStatus, to: MarketStatus): boolean {
  return from === to || NEXT[from].includes(to)
}

/** How two versions of a record can contradict each other. */
export const ANOMALY_CODES = ['illegal_transition', 'reused_id'] as const

/** A revision of a market that contradicts the one before it. */
export type RevisionAnomaly = {
  readonly code: (typeof ANOMALY_CODES)[number]
  readonly from: MarketStatus
  readonly to: MarketStatus
}

/** The status and times of a version of a record. */
type Version = {
  readonly status?: MarketStatus
  readonly openTime?: number
  readonly closeTime?: number
}

/**
 * The anomaly of a revision: a status that its predecessor's status does not lead to. Derived from the
 * two stored revisions alone, so a rebuild finds the same anomalies. Where a market that ended goes on
 * with other times, the venue gave its id to another market.
 */
export function findAnomaly(
  before: Version | undefined,
  after: Version,
): RevisionAnomaly | undefined {
  const [from, to] = [before?.status, after.status]
  if (from === undefined || to === undefined || isLegalTransition(from, to)) return undefined
  const isMoved = (name: 'openTime' | 'closeTime'): boolean =>
    before?.[name] !== undefined && after[name] !== undefined && before[name] !== after[name]
  const isReused = isLastStatus(from) && (isMoved('openTime') || isMoved('closeTime'))
  return { code: isReused ? 'reused_id' : 'illegal_transition', from, to }
}
