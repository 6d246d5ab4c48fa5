import { restingMoney } from '../../core/books.ts'
import type { UpstreamAnswer, UpstreamRequest } from '../../core/upstream.ts'
import { failed, good } from './answers.ts'
import type { Condition, Conditions } from './conditions.ts'
import { isClosed, toGammaEvent, toGammaMarket } from './gamma-market.ts'
import { claimOf, type Memory } from './memory.ts'

/** The path of Gamma, the catalogue. */
export const GAMMA = '/gamma'

/** Creates the request handler of Gamma. */
export function createGamma(
  conditions: Conditions,
  memory: Memory,
): (request: UpstreamRequest) => UpstreamAnswer {
  function list(
    query: URLSearchParams,
    bucket: string,
    hidesClosed: boolean,
    show: (condition: Condition) => object,
  ): UpstreamAnswer {
    const chosen = selectConditions(conditions.all(), query, memory, hidesClosed)
    if ('problem' in chosen) return failed(422, wrong('validation error', chosen.problem), bucket)
    return good(chosen.map(show), bucket, chosen.map(claimOf))
  }

  function one(condition: Condition | undefined, name: string): UpstreamAnswer {
    if (condition === undefined) {
      return failed(404, wrong('not found error', `${name} not found`), 'gamma')
    }
    return good(toGammaMarket(condition, memory), 'gamma', [claimOf(condition)])
  }

  function toEvent(condition: Condition): object {
    const event = toGammaEvent(condition, memory, isClosed(condition.proposition.phase))
    const { events: _, ...market } = toGammaMarket(condition, memory) as { events: unknown }
    return { ...event, markets: [market], tags: TAGS }
  }

  return ({ path, query }) => {
    const parts = path.slice(GAMMA.length + 1).split('/')
    const [first, second, third] = parts
    if (parts.length === 1 && first === 'markets') {
      return list(query, 'gamma_markets', true, (condition) => toGammaMarket(condition, memory))
    }
    if (parts.length === 1 && first === 'events') return list(query, 'gamma_events', false, toEvent)
    if (first === 'markets' && second === 'slug' && third !== undefined) {
      return one(conditions.bySlug(third), 'slug')
    }
    if (first === 'markets' && second !== undefined && parts.length === 2) {
      return one(conditions.byGammaId(second), 'id')
    }
    return failed(404, wrong('not found error', 'not found'), 'gamma')
  }
}

function wrong(type: string, error: string): object {
  return { type, error }
}

const TAGS = [
  {
    id: '21',
    label: 'Crypto',
    slug: 'crypto',
    forceShow: false,
    createdAt: '2023-11-02T21:24:31.198Z',
    updatedAt: '2026-03-09T22:32:04.396035Z',
    requiresTranslation: false,
  },
] as const

/** The reason why Gamma rejects a query; it answers 422. */
type QueryProblem = { readonly problem: string }

/** Max rows per page; Gamma silently caps larger limits. */
const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const MAX_OFFSET = 10_000

/** Applies the filters, the order and the page of a query, as Gamma does. */
function selectConditions(
  all: readonly Condition[],
  query: URLSearchParams,
  memory: Memory,
  /** The default of `closed`: /markets hides closed markets, /events hides nothing. */
  hidesClosed: boolean,
): readonly Condition[] | QueryProblem {
  const limit = wholeOf(query, 'limit', DEFAULT_LIMIT)
  const offset = wholeOf(query, 'offset', 0)
  if (limit === undefined || offset === undefined) return { problem: 'invalid limit or offset' }
  if (offset > MAX_OFFSET) return { problem: `offset must not exceed ${MAX_OFFSET}` }
  const keep = filterOf(query, memory, hidesClosed)
  if (typeof keep !== 'function') return keep
  const compare = orderOf(query, memory)
  if (typeof compare !== 'function') return compare
  const chosen = all.filter(keep)
  chosen.sort(compare)
  return chosen.slice(offset, offset + Math.min(limit, MAX_LIMIT))
}

type Keep = (condition: Condition) => boolean

function filterOf(
  query: URLSearchParams,
  memory: Memory,
  hidesClosed: boolean,
): Keep | QueryProblem {
  const filters: Keep[] = []
  for (const [name, isSo] of Object.entries<(condition: Condition, memory: Memory) => boolean>(
    FLAGS,
  )) {
    const wanted = query.get(name) ?? (name === 'closed' && hidesClosed ? 'false' : undefined)
    if (wanted === undefined) continue
    if (wanted !== 'true' && wanted !== 'false') return { problem: `${name} must be a boolean` }
    filters.push((condition) => isSo(condition, memory) === (wanted === 'true'))
  }
  for (const [name, namesOf] of Object.entries(NAMES)) {
    const wanted = new Set(query.getAll(name))
    if (wanted.size > 0) {
      filters.push((condition) => namesOf(condition).some((one) => wanted.has(one)))
    }
  }
  for (const [name, timeOf] of Object.entries(TIMES)) {
    for (const [end, sign] of [
      ['min', 1],
      ['max', -1],
    ] as const) {
      const text = query.get(`${name}_${end}`)
      if (text === null) continue
      const bound = Date.parse(text)
      if (Number.isNaN(bound)) return { problem: `${name}_${end} must be a date` }
      filters.push((condition) => sign * (timeOf(condition) - bound) >= 0)
    }
  }
  return (condition) => filters.every((filter) => filter(condition))
}

const FLAGS = {
  closed: ({ proposition }: Condition): boolean => isClosed(proposition.phase),
  active: ({ proposition }: Condition, memory: Memory): boolean => memory.traded(proposition),
  archived: (): boolean => false,
} as const

const NAMES: Readonly<Record<string, (condition: Condition) => readonly string[]>> = {
  id: ({ gammaId }) => [gammaId],
  slug: ({ slug }) => [slug],
  condition_ids: ({ conditionId }) => [conditionId],
  question_ids: ({ questionId }) => [questionId],
  clob_token_ids: ({ tokens }) => tokens,
}

const TIMES: Readonly<Record<string, (condition: Condition) => number>> = {
  start_date: ({ proposition }) => proposition.listTime,
  end_date: ({ proposition }) => proposition.closeTime,
}

// Names of JSON fields only; `end_date` for `endDate` is refused.
const ORDERS: Readonly<Record<string, (condition: Condition, memory: Memory) => number>> = {
  id: ({ proposition }) => proposition.index,
  startDate: ({ proposition }) => proposition.listTime,
  createdAt: ({ proposition }) => proposition.listTime,
  endDate: ({ proposition }) => proposition.closeTime,
  updatedAt: ({ proposition }, memory) => memory.updatedAt(proposition),
  volume: ({ proposition }) => proposition.volume,
  volumeNum: ({ proposition }) => proposition.volume,
  volume24hr: ({ proposition }) => proposition.volume,
  liquidity: ({ proposition }) => restingMoney(proposition.book),
  liquidityNum: ({ proposition }) => restingMoney(proposition.book),
}

function orderOf(
  query: URLSearchParams,
  memory: Memory,
): ((a: Condition, b: Condition) => number) | QueryProblem {
  const names = (query.get('order') ?? 'id').split(',')
  if (!names.every((name) => Object.hasOwn(ORDERS, name))) {
    return { problem: 'order fields are not valid' }
  }
  const sign = query.get('ascending') === 'false' ? -1 : 1
  return (a, b) => {
    for (const name of names) {
      const rank = ORDERS[name]!
      const difference = rank(a, memory) - rank(b, memory)
      if (difference !== 0) return sign * difference
    }
    return a.proposition.index - b.proposition.index
  }
}

function wholeOf(query: URLSearchParams, name: string, otherwise: number): number | undefined {
  const text = query.get(name)
  if (text === null) return otherwise
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
