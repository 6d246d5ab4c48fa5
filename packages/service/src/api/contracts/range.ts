import type { Micros } from '@priorbook/sdk/domain'
import { openPage, type Page } from '../pages/page.ts'
import type { ApiContext, CursorScope, Grant, Notice } from '../route.ts'
import type { FoundContract } from './find.ts'
import { presentOf } from './known-store.ts'
import { windowOf } from './to-json.ts'

/** The part of a request about a contract that chooses range and page. */
type RangedRequest = {
  readonly route: string
  readonly grant: Grant
  readonly query: {
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
    readonly start_time?: Micros | undefined
    readonly end_time?: Micros | undefined
    readonly known_at?: Micros | undefined
  }
}

/** The range of a request: what it names, else the window of the contract as far as it has passed. */
export function openRange(
  request: RangedRequest,
  context: ApiContext,
  contract: FoundContract,
  filters: CursorScope,
): Page {
  const { opens, closes } = windowOf(contract)
  const now = presentOf(context, request.query)
  const { start_time: asked, end_time: end, known_at: knownAt } = request.query
  // A range that ends before the window begins is meant to begin with the first book.
  const start = asked ?? (opens === undefined || (end ?? now) <= opens ? undefined : opens)
  const query = { ...request.query, start_time: start as Micros | undefined }
  const usual = Math.max(Math.min(closes ?? now, now), start ?? 0)
  const scope = { ...filters, contract: contract.id, knownAt }
  return openPage({ ...request, query }, context, scope, usual)
}

/** That the window of a contract has not begun, where a request names no other range. */
export function notOpenYet(
  { query }: RangedRequest,
  context: ApiContext,
  contract: FoundContract,
): Notice | undefined {
  const { opens } = windowOf(contract)
  if (query.start_time !== undefined || query.end_time !== undefined) return undefined
  if (opens === undefined || presentOf(context, query) > opens) return undefined
  return {
    code: 'market_not_open',
    message:
      'The window of the contract has not begun; start_time and end_time name another range.',
  }
}
