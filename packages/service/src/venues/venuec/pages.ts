import type { MarketRecord } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureRequest } from '../capture/contract.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { PAGE_MS, type Rest, type RestAnswer } from '../capture/rest.ts'

/** A market of a list, as far as is needed to know whether it is wanted. */
export type ListedMarket = { readonly slug: string; readonly conditionId: string }

/** What the client of the catalogue needs. */
export type CatalogClientOptions = {
  readonly gamma: Rest
  readonly clob: Rest
  readonly log: CaptureLog
  /** Completes a request with the decisions about the markets of its answer. */
  tell(request: CaptureRequest, value: unknown): CaptureRequest | undefined
  /** Called for every record of an answer. */
  onRecord(record: MarketRecord): void
}

/** Max markets per answer of Gamma, which caps `limit` silently, and max conditions per request. */
export const GAMMA_PAGE = 100
/** Beyond this offset Gamma answers 422. */
export const MAX_OFFSET = 10_000
/** Markets that a page of a long list has in common with the one before, if none ended meanwhile. */
export const OVERLAP = 10
/** Max times that one list is read again from further up. */
const MAX_STEPS_BACK = 200
/** Pages of a long list that are requested together: an answer waits for the commit of the one before. */
const PAGES_AT_ONCE = 4

/** Reads the catalogue, page by page, and hands every record on. */
export class CatalogClient {
  readonly #options: CatalogClientOptions

  constructor(options: CatalogClientOptions) {
    this.#options = options
  }

  /** Requests markets by condition, open or `closed` ones; returns the ids of those that came. */
  async byCondition(
    ids: readonly string[],
    closed: boolean,
    signal: AbortSignal,
  ): Promise<Set<string>> {
    const named = new Set<string>()
    for (let from = 0; from < ids.length; from += GAMMA_PAGE) {
      const query = {
        condition_ids: ids.slice(from, from + GAMMA_PAGE),
        limit: String(GAMMA_PAGE),
        closed: String(closed),
      }
      for (const id of await this.#requestMarkets(query, signal)) named.add(id)
    }
    return named
  }

  async bySlug(slug: string, signal: AbortSignal): Promise<void> {
    await this.#requestMarkets({ slug }, signal)
  }

  /** Requests a market from CLOB, which names winners; returns false where CLOB did not answer. */
  async clobMarket(conditionId: string, signal: AbortSignal): Promise<boolean> {
    const request = { kind: 'clob_market', condition_id: conditionId }
    const call = { request, path: `/markets/${conditionId}` }
    const answer = await this.#options.clob.send(call, signal)
    this.#accept(request, answer)
    return answer.ok
  }

  /**
   * Lists every open market that ends in a span; undefined where Gamma failed. The pages are not
   * journaled, because most of their markets are not recorded. A span with more markets than an offset
   * can reach is halved.
   */
  async endingBetween(
    fromMs: number,
    toMs: number,
    signal: AbortSignal,
  ): Promise<readonly ListedMarket[] | undefined> {
    const found: ListedMarket[] = []
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
      const call = { request, path: '/markets', query, keep: false }
      const answer = await this.#options.gamma.send(call, signal)
      if (!answer.ok || !Array.isArray(answer.value)) return undefined
      found.push(...answer.value.flatMap((market: unknown) => toListed(market) ?? []))
      if (answer.value.length < GAMMA_PAGE) return found
    }
    const middleMs = Math.floor((fromMs + toMs) / 2)
    if (middleMs <= fromMs) return found
    const halves = [
      await this.endingBetween(fromMs, middleMs, signal),
      await this.endingBetween(middleMs, toMs, signal),
    ]
    return halves.every((half) => half !== undefined) ? halves.flat() : undefined
  }

  /**
   * Lists every open market that ends in a span, and records those that are selected; false where Gamma
   * failed. A span with more markets than an offset can reach is halved.
   */
  async listEnding(fromMs: number, toMs: number, signal: AbortSignal): Promise<boolean> {
    // By their ids, which never change: the end of a market may be moved while the list is read.
    const span = {
      order: 'id',
      ascending: 'true',
      end_date_min: new Date(fromMs).toISOString(),
      end_date_max: new Date(toMs).toISOString(),
    }
    const last = await this.#requestPage(
      { ...span, offset: String(MAX_OFFSET) },
      signal,
      () => false,
    )
    if (last === undefined) return false
    if (last.length === 0 || toMs - fromMs <= 1) return this.#listSpan(span, signal)
    const middleMs = Math.floor((fromMs + toMs) / 2)
    const isFirst = await this.listEnding(fromMs, middleMs, signal)
    return (await this.listEnding(middleMs, toMs, signal)) && isFirst
  }

  // Each market that ends meanwhile moves those behind it up by one. A page that does not begin among the markets that
  // were read may have left some out, so the list is read again from further up.
  async #listSpan(span: Readonly<Record<string, string>>, signal: AbortSignal): Promise<boolean> {
    const step = GAMMA_PAGE - OVERLAP
    let lastRead = -1
    let stepsBack = 0
    for (let offset = 0; offset < MAX_OFFSET;) {
      const places = Array.from({ length: PAGES_AT_ONCE }, (_, page) => offset + page * step)
      const offsets = places.filter((place) => place <= MAX_OFFSET)
      const pages = await Promise.all(
        offsets.map((at) => this.#requestPage({ ...span, offset: String(at) }, signal)),
      )
      let next = offset + step * PAGES_AT_ONCE
      for (const [index, page] of pages.entries()) {
        if (page === undefined) return false
        const at = offsets[index]!
        const ids = page.map(numberOf)
        if (at > 0 && (ids[0] ?? Infinity) > lastRead) {
          // A list in another order would be read for ever.
          if (++stepsBack > MAX_STEPS_BACK) return false
          next = Math.max(0, at - GAMMA_PAGE)
          break
        }
        if (page.length < GAMMA_PAGE) return true
        lastRead = Math.max(lastRead, ids.at(-1)!)
      }
      offset = next
    }
    return true
  }

  /** Lists the newest open markets, page by page, until all of a page are known. */
  async listNewest(isKnown: (marketId: string) => boolean, signal: AbortSignal): Promise<void> {
    for (let offset = 0; offset <= MAX_OFFSET; offset += GAMMA_PAGE - OVERLAP) {
      const query = { order: 'createdAt', ascending: 'false', offset: String(offset) }
      let areKnown = true
      const page = await this.#requestPage(query, signal, (ids) => {
        areKnown = ids.every(isKnown)
        // What is known already is refreshed elsewhere.
        return !areKnown
      })
      if (page === undefined || areKnown || page.length < GAMMA_PAGE) return
    }
  }

  // A page of open markets with their tags; `isKept` decides by their ids whether it is recorded.
  async #requestPage(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    isKept: (ids: readonly string[]) => boolean = () => true,
  ): Promise<readonly unknown[] | undefined> {
    const request = { kind: 'gamma_markets' }
    const answer = await this.#options.gamma.send(
      {
        request,
        path: '/markets',
        query: { closed: 'false', include_tag: 'true', limit: String(GAMMA_PAGE), ...query },
        timeoutMs: PAGE_MS,
        describe: (value) =>
          isKept(idsOf(value)) ? this.#options.tell(request, value) : undefined,
      },
      signal,
    )
    this.#accept(request, answer)
    return answer.ok && Array.isArray(answer.value) ? answer.value : undefined
  }

  async #requestMarkets(
    query: Readonly<Record<string, string | readonly string[]>>,
    signal: AbortSignal,
  ): Promise<Set<string>> {
    const request = { kind: 'gamma_markets' }
    const describe = (value: unknown): CaptureRequest | undefined =>
      this.#options.tell(request, value)
    const call = { request, path: '/markets', query, describe }
    return this.#accept(request, await this.#options.gamma.send(call, signal))
  }

  #accept({ kind }: CaptureRequest, answer: RestAnswer): Set<string> {
    if (!answer.ok) return new Set()
    const { error } = answer.reading
    if (error !== undefined) {
      this.#options.log.warn({ kind, error: error.message }, 'venue C: an answer was malformed')
    }
    const records = recordsOf(answer.reading)
    for (const record of records) this.#options.onRecord(record)
    return new Set(records.map(({ marketId }) => marketId))
  }
}

function idsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((market: unknown) => toListed(market)?.conditionId ?? [])
}

// Gamma numbers its markets; one without a number proves nothing about the others.
function numberOf(value: unknown): number {
  return Number((value as { readonly id?: unknown } | null)?.id ?? 0)
}

function toListed(value: unknown): ListedMarket | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { slug, conditionId } = value as { readonly slug?: unknown; readonly conditionId?: unknown }
  return typeof slug === 'string' && typeof conditionId === 'string'
    ? { slug, conditionId }
    : undefined
}
