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

/** Which values of `status` each family of time filters may stand beside, as documented. */
const TIMES = {
  created: ['unopened', 'open'],
  close: ['closed'],
  settled: ['settled'],
  updated: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

type TimeName = keyof typeof TIMES
type Test = (market: Proposition) => boolean

/** What is listed. Events and combinations of several markets have lists of their own. */
export type ListKind = 'markets' | 'events' | 'combos'

/** Markets that pass the filters of /markets and /events, newest first; or the name of a bad filter. */
export function selectMarkets(
  markets: Markets,
  query: URLSearchParams,
  kind: ListKind,
  isListed: Test = () => true,
): readonly Proposition[] | string {
  const status = query.get('status') ?? ''
  const phases = status === '' ? undefined : FILTERS[status]
  if (status !== '' && phases === undefined) return 'status'
  const tests: Test[] = [isListed]
  if (phases !== undefined) tests.push(({ phase }) => phases.includes(phase))
  const shown = kind === 'markets' ? combosOf(query) : kind === 'combos'
  if (shown === undefined) return 'mve_filter'
  if (shown !== 'both') tests.push(({ topic }) => (topic?.kind === 'combo') === shown)
  const used = addTimes(markets, query, tests)
  if (typeof used === 'string') return used
  const problem = kind === 'markets' ? timeProblem(query, status, used) : undefined
  if (problem !== undefined) return problem
  const chosen: Proposition[] = []
  const candidates = candidatesOf(markets, query)
  for (let at = candidates.length - 1; at >= 0; at--) {
    const market = candidates[at]!
    if (tests.every((test) => test(market))) chosen.push(market)
  }
  return chosen
}

/** Whether combinations alone are wanted, others alone, or both; undefined where it is not valid. */
function combosOf(query: URLSearchParams): boolean | 'both' | undefined {
  const wanted = query.get('mve_filter') ?? ''
  if (wanted === '') return 'both'
  if (wanted === 'exclude') return false
  return wanted === 'only' ? true : undefined
}

// The narrowest index that the query allows, in order of listing.
function candidatesOf(markets: Markets, query: URLSearchParams): readonly Proposition[] {
  const { names } = markets
  const event = query.get('event_ticker')
  const series = query.get('series_ticker')
  const tickers = query.get('tickers')?.split(',')
  const tests: Test[] = []
  if (event !== null) tests.push((market) => names(market).event === event)
  if (series !== null) tests.push((market) => names(market).series === series)
  if (tickers !== undefined) {
    const found = new Set(tickers.flatMap((ticker) => markets.find(ticker) ?? []))
    return [...found]
      .sort((a, b) => a.index - b.index)
      .filter((market) => tests.every((test) => test(market)))
  }
  if (event !== null) {
    return markets.ofEvent(event).filter((market) => tests.every((test) => test(market)))
  }
  return series === null ? markets.all() : markets.ofSeries(series)
}

/** Adds the filters of time and tells which families were used; or the name of a bad one. */
function addTimes(
  markets: Markets,
  query: URLSearchParams,
  tests: Test[],
): ReadonlySet<TimeName> | string {
  const used = new Set<TimeName>()
  for (const name of Object.keys(TIMES) as TimeName[]) {
    for (const bound of ['min', 'max'] as const) {
      const parameter = `${bound}_${name}_ts`
      const seconds = wholeOf(query, parameter)
      if (seconds === undefined) continue
      if (Number.isNaN(seconds)) return parameter
      used.add(name)
      const timeOf = timeReader(markets, name)
      const ms = seconds * 1000
      tests.push((market) => (bound === 'min' ? timeOf(market) >= ms : timeOf(market) <= ms))
    }
  }
  return used
}

/** Why the filters of time of /markets do not go together, if so. */
function timeProblem(
  query: URLSearchParams,
  status: string,
  used: ReadonlySet<TimeName>,
): string | undefined {
  const [name] = used
  if (name === undefined) return undefined
  if (used.size > 1) return 'timestamp filters: they exclude each other'
  const isBeside = status !== '' && !(TIMES[name] as readonly string[]).includes(status)
  const isFiltered =
    name === 'updated' &&
    (OTHERS.some((other) => query.has(other)) || query.get('mve_filter') === 'only')
  return isBeside || isFiltered ? `${name}_ts filter beside another filter` : undefined
}

const OTHERS = ['series_ticker', 'event_ticker', 'tickers'] as const

function timeReader(markets: Markets, name: TimeName): (market: Proposition) => number {
  switch (name) {
    case 'created':
      return ({ listTime }) => listTime
    case 'close':
      return ({ closeTime }) => closeTime
    case 'settled':
      return (market) => markets.times(market).get('resolved') ?? NaN
    case 'updated':
      return (market) => markets.updatedAt(market)
  }
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
