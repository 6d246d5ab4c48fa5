import type { Round } from './rounds.ts'

/** One page of the list of topics. */
export type RoundPage = {
  readonly chosen: readonly Round[]
  readonly total: number
  readonly offset: number
  readonly limit: number
  readonly hasMore: boolean
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/**
 * Answers a list query with a page, or with the name of the invalid parameter. The list omits
 * resolved rounds, which can only be found by their topic id.
 */
export function selectRounds(rounds: readonly Round[], query: URLSearchParams): RoundPage | string {
  const offset = Number(query.get('offset') ?? 0)
  if (!Number.isSafeInteger(offset) || offset < 0) return 'offset'
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT) return 'limit'
  const sortBy = query.get('sortBy') ?? 'RECOMMENDED'
  const rank = Object.hasOwn(RANKS, sortBy) ? RANKS[sortBy] : undefined
  if (rank === undefined) return 'sortBy'
  const orderBy = query.get('orderBy') ?? 'DESC'
  if (orderBy !== 'ASC' && orderBy !== 'DESC') return 'orderBy'
  const sign = orderBy === 'ASC' ? 1 : -1

  const known =
    (query.get('l1Category') ?? 'crypto') === 'crypto' &&
    (query.get('l2Category') ?? 'up-down') === 'up-down'
  const all = known ? rounds.filter(({ proposition }) => proposition.phase !== 'resolved') : []
  all.sort((a, b) => sign * (rank(a) - rank(b)) || a.topicId - b.topicId)
  const chosen = all.slice(offset, offset + limit)
  const hasMore = offset + chosen.length < all.length
  return { chosen, total: all.length, offset, limit, hasMore }
}

const RANKS: Readonly<Record<string, (round: Round) => number>> = {
  RECOMMENDED: ({ proposition }) => proposition.volume,
  VOLUME: ({ proposition }) => proposition.volume,
  PARTICIPANTS: ({ proposition }) => proposition.participants,
  CREATED_TIME: ({ proposition }) => proposition.listTime,
  END_DATE: ({ proposition }) => proposition.closeTime,
}
