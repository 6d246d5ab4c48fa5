import type { Payload, UpstreamAnswer, UpstreamRequest } from '../../core/upstream.ts'
import { failed, good, goodText } from './answers.ts'
import type { Condition, Conditions, EventGroup } from './conditions.ts'
import { selectKeyset, selectRows, wholeOf, type Shape } from './gamma-query.ts'
import { eventShape, marketShape } from './gamma-shapes.ts'
import { GammaTexts } from './gamma-texts.ts'
import { claimOf, type Memory } from './memory.ts'
import type { Tag, Tags } from './tags.ts'
import { eventTitleOf } from './texts.ts'

/** The path of Gamma, the catalogue. */
export const GAMMA = '/gamma'

/** The parts that Gamma reads from. */
export type GammaParts = {
  readonly conditions: Conditions
  readonly memory: Memory
  readonly tags: Tags
}

/** Creates the request handler of Gamma. */
export function createGamma(parts: GammaParts): (request: UpstreamRequest) => UpstreamAnswer {
  const gamma = new Gamma(parts)
  return (request) => gamma.answer(request)
}

/** Results of each type on a page of the search by default. */
const SEARCH_LIMIT = 5
const MAX_TAGS = 300
/** Max rows per page of the lists by cursor. */
const MAX_KEYSET_MARKETS = 100
const MAX_KEYSET_EVENTS = 500

class Gamma {
  private readonly conditions: Conditions
  private readonly tags: Tags
  private readonly texts: GammaTexts
  private readonly markets: Shape<Condition>
  private readonly events: Shape<EventGroup>

  constructor({ conditions, memory, tags }: GammaParts) {
    this.conditions = conditions
    this.tags = tags
    this.texts = new GammaTexts(memory, tags)
    this.markets = marketShape(memory, tags)
    this.events = eventShape(memory, tags)
  }

  answer({ path, query }: UpstreamRequest): UpstreamAnswer {
    const parts = path.slice(GAMMA.length + 1).split('/')
    const [first, second, third] = parts
    if (parts.length === 1) {
      if (first === 'markets') return this.listMarkets(query)
      if (first === 'events') return this.listEvents(query)
      if (first === 'tags') return this.listTags(query)
      if (first === 'public-search') return this.search(query)
    } else if (parts.length === 2 && second === 'keyset' && first === 'markets') {
      return this.keysetMarkets(query)
    } else if (parts.length === 2 && second === 'keyset' && first === 'events') {
      return this.keysetEvents(query)
    } else if (first === 'markets') {
      if (second === 'slug' && third !== undefined) {
        return this.market(this.conditions.bySlug(third), 'slug')
      }
      if (parts.length === 2) return this.market(this.conditions.byGammaId(second!), 'id')
    } else if (first === 'events') {
      if (second === 'slug' && third !== undefined) {
        return this.event(this.conditions.eventBySlug(third), 'slug')
      }
      if (parts.length === 2) return this.event(this.conditions.eventById(second!), 'id')
    } else if (first === 'tags' && parts.length <= 3) {
      return this.tag(parts.length === 3 ? 'slug' : 'id', parts.at(-1)!)
    }
    return failed(404, wrong('not found error', 'not found'), 'gamma')
  }

  private listMarkets(query: URLSearchParams): UpstreamAnswer {
    const chosen = selectRows(this.conditions.all(), query, this.markets)
    if ('problem' in chosen) return refused(chosen.problem, 'gamma_markets')
    const isTagged = query.get('include_tag') === 'true'
    const rows = chosen.map((condition) => this.texts.market(condition, isTagged))
    return goodText(`[${rows.join(',')}]`, 'gamma_markets', chosen.map(claimOf))
  }

  private listEvents(query: URLSearchParams): UpstreamAnswer {
    const chosen = selectRows(this.conditions.events(), query, this.events)
    if ('problem' in chosen) return refused(chosen.problem, 'gamma_events')
    return goodText(`[${this.listText(chosen)}]`, 'gamma_events', claimsOf(chosen))
  }

  private keysetMarkets(query: URLSearchParams): UpstreamAnswer {
    const page = selectKeyset(this.conditions.all(), query, this.markets, MAX_KEYSET_MARKETS)
    if ('problem' in page) return refused(page.problem, 'gamma_markets')
    const isTagged = query.get('include_tag') === 'true'
    const texts = page.rows.map((condition) => this.texts.market(condition, isTagged))
    const body = `{"markets":[${texts.join(',')}]${nextCursor(page.next)}}`
    return goodText(body, 'gamma_markets', page.rows.map(claimOf))
  }

  private keysetEvents(query: URLSearchParams): UpstreamAnswer {
    const page = selectKeyset(this.conditions.events(), query, this.events, MAX_KEYSET_EVENTS)
    if ('problem' in page) return refused(page.problem, 'gamma_events')
    const body = `{"events":[${this.listText(page.rows)}]${nextCursor(page.next)}}`
    return goodText(body, 'gamma_events', claimsOf(page.rows))
  }

  private market(condition: Condition | undefined, name: string): UpstreamAnswer {
    if (condition === undefined) return unknown(name)
    return goodText(this.texts.market(condition), 'gamma', [claimOf(condition)])
  }

  private event(event: EventGroup | undefined, name: string): UpstreamAnswer {
    if (event === undefined) return unknown(name)
    return goodText(this.texts.event(event), 'gamma', claimsOf([event]))
  }

  private allTags(): readonly Tag[] {
    const tags = new Set(this.conditions.events().flatMap((event) => this.tags.of(event)))
    return [...tags]
  }

  private listTags(query: URLSearchParams): UpstreamAnswer {
    const limit = wholeOf(query, 'limit', MAX_TAGS)
    const offset = wholeOf(query, 'offset', 0)
    if (limit === undefined || offset === undefined) {
      return refused('invalid limit or offset', 'gamma')
    }
    return good(this.allTags().slice(offset, offset + Math.min(limit, MAX_TAGS)), 'gamma')
  }

  private tag(name: 'id' | 'slug', value: string): UpstreamAnswer {
    const tag = this.allTags().find((one) => one[name] === value)
    return tag === undefined ? unknown(name) : good(tag, 'gamma')
  }

  /** Open events whose title contains the text; people and tags are not searched. */
  private search(query: URLSearchParams): UpstreamAnswer {
    const text = (query.get('q') ?? '').toLowerCase()
    const limit = wholeOf(query, 'limit_per_type', SEARCH_LIMIT)
    const page = wholeOf(query, 'page', 1)
    if (text === '' || limit === undefined || page === undefined || page < 1) {
      return refused('invalid q, limit_per_type or page', 'gamma_search')
    }
    const found = this.conditions
      .events()
      .filter(({ conditions }) =>
        eventTitleOf(conditions[0]!.proposition).toLowerCase().includes(text),
      )
      .filter((event) => !this.events.flags['closed']!(event))
    const events = found.slice((page - 1) * limit, page * limit)
    const pagination = { hasMore: found.length > page * limit, totalResults: found.length }
    const body = `{"events":[${this.listText(events)}],"pagination":${JSON.stringify(pagination)}}`
    return goodText(body, 'gamma_search', claimsOf(events))
  }

  private listText(events: readonly EventGroup[]): string {
    return events.map((event) => this.texts.event(event)).join(',')
  }
}

function claimsOf(events: readonly EventGroup[]): Payload[] {
  return events.flatMap(({ conditions }) => conditions.map(claimOf))
}

function nextCursor(next: string | undefined): string {
  return next === undefined ? '' : `,"next_cursor":"${next}"`
}

function refused(problem: string, bucket: string): UpstreamAnswer {
  return failed(422, wrong('validation error', problem), bucket)
}

function unknown(name: string): UpstreamAnswer {
  return failed(404, wrong('not found error', `${name} not found`), 'gamma')
}

function wrong(type: string, error: string): object {
  return { type, error }
}
