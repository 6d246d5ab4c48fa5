import type { Phase, Proposition } from '../../core/upstream.ts'
import type { Markets } from './markets.ts'

/** The venue's filter values, which differ from its status values. */
const FILTERS: Readonly<Record<string, readonly Phase[]>> = {
  unopened: ['listed'],
  open: ['open'],
  paused: ['paused'],
  closed: ['closed', 'determined', 'disputed'],
  settled: ['resolved'],
}

/** Markets that pass the filters of /markets and /events, newest first; or the name of a bad filter. */
export function selectMarkets(
  markets: Markets,
  query: URLSearchParams,
): readonly Proposition[] | string {
  const { names, times } = markets
  const status = query.get('status')
  const phases = status === null || status === '' ? undefined : FILTERS[status]
  if (status !== null && status !== '' && phases === undefined) return 'status'
  const tests: ((market: Proposition) => boolean)[] = []
  if (phases !== undefined) tests.push(({ phase }) => phases.includes(phase))
  const series = query.get('series_ticker')
  if (series !== null) tests.push((market) => names(market).series === series)
  const event = query.get('event_ticker')
  if (event !== null) tests.push((market) => names(market).event === event)
  const tickers = query.get('tickers')?.split(',')
  if (tickers !== undefined) tests.push((market) => tickers.includes(names(market).ticker))
  if (query.get('mve_filter') === 'only') return []
  for (const [name, timeOf] of [
    ['created', (market: Proposition) => market.listTime],
    ['close', (market: Proposition) => market.closeTime],
    ['settled', (market: Proposition) => times(market).get('resolved') ?? NaN],
    ['updated', (market: Proposition) => Math.max(market.listTime, ...times(market).values())],
  ] as const) {
    for (const bound of ['min', 'max'] as const) {
      const seconds = wholeOf(query, `${bound}_${name}_ts`)
      if (seconds === undefined) continue
      if (Number.isNaN(seconds)) return `${bound}_${name}_ts`
      tests.push((market) =>
        bound === 'min' ? timeOf(market) >= seconds * 1000 : timeOf(market) <= seconds * 1000,
      )
    }
  }
  return markets
    .all()
    .filter((market) => tests.every((test) => test(market)))
    .reverse()
}

/** One page; the cursor says where the next begins and is empty at the end. */
export function selectPage<T>(
  rows: readonly T[],
  query: URLSearchParams,
  standard: number,
  most: number,
): { readonly rows: readonly T[]; readonly cursor: string } | string {
  const limit = wholeOf(query, 'limit') ?? standard
  if (!(limit >= 0 && limit <= most)) return 'limit'
  const cursor = query.get('cursor') ?? ''
  // The position counts from the end, so rows added in front between two pages do not shift it.
  const left = cursor === '' ? rows.length : Number(Buffer.from(cursor, 'base64url').toString())
  if (!Number.isInteger(left) || left < 0) return 'cursor'
  const start = Math.max(0, rows.length - left)
  const end = start + (limit === 0 ? standard : limit)
  const rest = rows.length - end
  return {
    rows: rows.slice(start, end),
    cursor: rest > 0 ? Buffer.from(String(rest)).toString('base64url') : '',
  }
}

/** A whole number of the query; NaN where it is not one. */
export function wholeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  return /^-?\d{1,12}$/.test(text) ? Number(text) : NaN
}
