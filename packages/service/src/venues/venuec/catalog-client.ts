import type { MarketRecord } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureRequest } from '../capture/contract.ts'
import type { Rest, RestAnswer } from '../capture/rest.ts'

/** Asks the catalogue and hands every record of an answer on. */
export interface CatalogClient {
  /** Markets by condition; `closed` asks for those that Gamma hides otherwise. Gives those it named. */
  byCondition(ids: readonly string[], closed: boolean, signal: AbortSignal): Promise<Set<string>>
  bySlug(slug: string, signal: AbortSignal): Promise<void>
  /** A market as CLOB knows it, which names winners; false where CLOB did not answer. */
  clobMarket(conditionId: string, signal: AbortSignal): Promise<boolean>
  /**
   * Slug and condition of every open market that ends in a span, or undefined where Gamma failed.
   * Most of these are no concern of ours, so the pages are not kept.
   */
  endingBetween(
    fromMs: number,
    toMs: number,
    signal: AbortSignal,
  ): Promise<readonly Listed[] | undefined>
}

/** A market of a list, as far as it is needed to know whether it is wanted. */
export type Listed = { readonly slug: string; readonly conditionId: string }

/** What the client of the catalogue needs. */
export type CatalogClientOptions = {
  readonly gamma: Rest
  readonly clob: Rest
  readonly log: CaptureLog
  onRecord(record: MarketRecord): void
}

/** Gamma caps `limit` at this without a word, and takes no more conditions in one call. */
export const GAMMA_PAGE = 100
/** Beyond this offset Gamma answers 422. */
const MAX_OFFSET = 10_000

/** Creates the client of the catalogue. */
export function createCatalogClient(options: CatalogClientOptions): CatalogClient {
  const { gamma, clob, log } = options

  /** Hands the records of an answer on; gives the markets that it named. */
  function accept({ kind }: CaptureRequest, answer: RestAnswer): Set<string> {
    const named = new Set<string>()
    if (!answer.ok) return named
    const { events, error } = answer.reading
    if (error !== undefined) {
      log.warn({ kind, error: error.message }, 'venue C: an answer was malformed')
    }
    for (const event of events) {
      if (event.kind !== 'market') continue
      named.add(event.record.marketId)
      options.onRecord(event.record)
    }
    return named
  }

  async function askMarkets(
    query: Readonly<Record<string, string | readonly string[]>>,
    signal: AbortSignal,
  ): Promise<Set<string>> {
    const request = { kind: 'gamma_markets' }
    return accept(request, await gamma.send({ request, path: '/markets', query }, signal))
  }

  /** One page after the other; a span with more markets than an offset reaches is halved. */
  async function pages(
    fromMs: number,
    toMs: number,
    signal: AbortSignal,
  ): Promise<readonly Listed[] | undefined> {
    const found: Listed[] = []
    for (let offset = 0; offset <= MAX_OFFSET; offset += GAMMA_PAGE) {
      const query = {
        closed: 'false',
        order: 'endDate',
        ascending: 'true',
        limit: String(GAMMA_PAGE),
        offset: String(offset),
        end_date_min: new Date(fromMs).toISOString(),
        end_date_max: new Date(toMs).toISOString(),
      }
      const request = { kind: 'gamma_markets', offset }
      const answer = await gamma.send({ request, path: '/markets', query, keep: false }, signal)
      if (!answer.ok || !Array.isArray(answer.value)) return undefined
      found.push(...answer.value.flatMap((market: unknown) => toListed(market) ?? []))
      if (answer.value.length < GAMMA_PAGE) return found
    }
    const middleMs = Math.floor((fromMs + toMs) / 2)
    if (middleMs <= fromMs) return found
    const halves = [await pages(fromMs, middleMs, signal), await pages(middleMs, toMs, signal)]
    return halves.every((half) => half !== undefined) ? halves.flat() : undefined
  }

  return {
    endingBetween: pages,
    async byCondition(ids, closed, signal) {
      const named = new Set<string>()
      for (let from = 0; from < ids.length; from += GAMMA_PAGE) {
        const query = {
          condition_ids: ids.slice(from, from + GAMMA_PAGE),
          limit: String(GAMMA_PAGE),
          closed: String(closed),
        }
        for (const id of await askMarkets(query, signal)) named.add(id)
      }
      return named
    },
    async bySlug(slug, signal) {
      await askMarkets({ slug }, signal)
    },
    async clobMarket(conditionId, signal) {
      const request = { kind: 'clob_market', condition_id: conditionId }
      const answer = await clob.send({ request, path: `/markets/${conditionId}` }, signal)
      accept(request, answer)
      return answer.ok
    },
  }
}

function toListed(value: unknown): Listed | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { slug, conditionId } = value as { readonly slug?: unknown; readonly conditionId?: unknown }
  return typeof slug === 'string' && typeof conditionId === 'string'
    ? { slug, conditionId }
    : undefined
}
