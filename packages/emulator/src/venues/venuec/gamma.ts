import type { UpstreamAnswer, UpstreamRequest } from '../../core/upstream.ts'
import { failed, good } from './answers.ts'
import type { Condition, Conditions } from './conditions.ts'
import { toGammaEvent } from './gamma-event.ts'
import { isClosed, toGammaMarket } from './gamma-market.ts'
import { selectConditions } from './gamma-query.ts'
import type { Memory } from './memory.ts'
import { claimOf } from './market-state.ts'

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
