import { printSpan } from '@priorbook/sdk/command-line'
import {
  GAP_REASONS,
  printMicros,
  toMicros,
  VENUE_IDS,
  type Gap,
  type GapReason,
  type GapScope,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { GapQuery, StoreReader } from '../store/store.ts'
import { markup, table, type Cell } from './html.ts'
import { FAILURES, listOpenGaps } from './open-gaps.ts'
import { toPage } from './page.ts'

const PAGE_GAPS = 200

/** The page of gaps that are open now, oldest first; `query` may name a venue and a reason. */
export async function toGapsPage(store: StoreReader, query: URLSearchParams): Promise<string> {
  const venue = VENUE_IDS.find((one) => one === query.get('venue'))
  const reason = FAILURES.find((one) => one === query.get('reason'))
  const after = parsePlace(query.get('after'))
  const filters = { ...(venue && { venue }), ...(reason && { reason }) }
  const found = await listOpenGaps(store, { ...filters, after, limit: PAGE_GAPS + 1 })
  const shown = found.slice(0, PAGE_GAPS)
  const last = found.length > shown.length ? shown.at(-1) : undefined
  const next =
    last === undefined
      ? undefined
      : markup`<p><a rel="next" href="/gaps?${toQuery({ ...filters, after: toPlace(last) })}">Next page</a></p>`
  const heads = ['venue', 'of', 'key', 'reason', 'since (UTC)', 'for', 'detail']
  const title = ['Gaps now', venue, reason].filter((part) => part !== undefined).join(': ')
  const why = reason === undefined ? undefined : markup`<p>${GAP_REASONS[reason]}</p>`
  const now = Date.now() * 1000
  const rows = shown.map((gap) => toRow(gap, now))
  const body = markup`${filterPart(venue, reason)}${why}
${table(title, heads, rows, 'No gap is open.')}${next}`
  return toPage('Open gaps', body, { reloads: after === undefined, here: '/gaps' })
}

function filterPart(venue: VenueId | undefined, reason: GapReason | undefined) {
  const link = (name: string, filters: Record<string, string | undefined>) => {
    const query = toQuery(filters)
    return markup`<a href="/gaps${query === '' ? '' : `?${query}`}">${name}</a> `
  }
  const venues = VENUE_IDS.map((one) => link(one, { venue: one, reason }))
  return markup`<p>Venue: ${link('all', { reason })}${venues}
${reason === undefined ? undefined : markup`· Reason: ${reason} (${link('all', { venue })})`}</p>`
}

function toRow({ venue, scope, key, reason, start, detail = '' }: Gap, now: number): Cell[] {
  const since = printMicros(start).slice(0, 19).replace('T', ' ')
  return [venue, scope, key, reason, since, printSpan((now - start) / 1000), detail]
}

function toQuery(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter(
    (one): one is [string, string] => one[1] !== undefined,
  )
  return new URLSearchParams(given).toString()
}

function toPlace({ start, afterSequence, venue, key, reason, scope }: Gap): string {
  return JSON.stringify([start, afterSequence, venue, key, reason, scope])
}

// Undefined for what this page did not write: the list then begins with its first page.
function parsePlace(text: string | null): GapQuery['after'] {
  if (text === null) return undefined
  try {
    const [start, afterSequence, venue, key, reason, scope] = JSON.parse(text) as unknown[]
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(afterSequence)) return undefined
    const names = [venue, key, reason, scope]
    if (!names.every((name) => typeof name === 'string')) return undefined
    return {
      start: toMicros(start as number),
      afterSequence: afterSequence as number,
      venue: venue as VenueId,
      key: key as string,
      reason: reason as GapReason,
      scope: scope as GapScope,
    }
  } catch {
    return undefined
  }
}
