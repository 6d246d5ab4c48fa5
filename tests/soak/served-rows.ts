import type { VenueId } from '@priorbook/sdk/domain'
import { marketPath } from '../../packages/service/src/api/markets/addresses.ts'

/** A market as a list shows it. */
export type ListedMarket = {
  readonly venue: VenueId
  readonly market_id: string
  readonly asset?: string | null
  readonly close_time: number | null
}

/** A declared gap, in microseconds. */
export type DeclaredGap = {
  readonly key: string
  readonly reason: string
  readonly start_time: number
  readonly end_time: number | null
}

/** What a page says beside its rows. */
type Page<Row> = {
  readonly data: readonly Row[]
  readonly meta: { readonly gaps?: readonly DeclaredGap[]; readonly notice?: unknown }
  readonly pagination?: { readonly next_cursor: string | null }
}

/** The rows of one instrument, in the order of their sequences. */
export type ServedRows = { readonly sequences: number[]; readonly times: number[] }

/** Reads a running service as any client does. */
export class ServedReader {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** The newest markets. */
  async markets(limit: number): Promise<readonly ListedMarket[]> {
    return (await this.#page<ListedMarket>(`/v3/markets?limit=${limit}&order=desc`))?.data ?? []
  }

  /** The notice with a code that the list of all markets carries. */
  async noticeOf(code: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const page = await this.#page('/v3/markets?limit=1')
    const notices = [page?.meta.notice ?? []].flat() as { readonly code: string }[]
    return notices.find((notice) => notice.code === code)
  }

  /** All rows of a market by instrument, and the gaps of its pages; undefined where it is not listed. */
  async rowsOf(
    market: ListedMarket,
  ): Promise<
    | { readonly rows: ReadonlyMap<string, ServedRows>; readonly gaps: readonly DeclaredGap[] }
    | undefined
  > {
    const rows = new Map<string, ServedRows>()
    const gaps: DeclaredGap[] = []
    const path = `${marketPath(market.venue, market.market_id, market.asset ?? undefined)}/changes`
    for (let cursor = ''; ;) {
      const page = await this.#page<{ id: string; received_time: number }>(
        `${path}?limit=1000${cursor}`,
      )
      if (page === undefined) return undefined
      for (const { id, received_time: time } of page.data) {
        const end = id.lastIndexOf(':')
        const key = id.slice(id.indexOf(':') + 1, end)
        let own = rows.get(key)
        if (own === undefined) rows.set(key, (own = { sequences: [], times: [] }))
        own.sequences.push(Number(id.slice(end + 1)))
        own.times.push(time)
      }
      gaps.push(...(page.meta.gaps ?? []))
      const next = page.pagination?.next_cursor ?? null
      if (next === null) return { rows, gaps }
      cursor = `&cursor=${next}`
    }
  }

  /** The gaps of a market as `/v3/gaps` and as coverage tell them. */
  async gapsOf({ venue, market_id: id }: ListedMarket): Promise<{
    readonly listed: readonly DeclaredGap[]
    readonly covered: readonly DeclaredGap[]
  }> {
    const query = `venue=${venue}&market=${encodeURIComponent(id)}`
    const listed = await this.#page<DeclaredGap>(`/v3/gaps?limit=1000&${query}`)
    const covered = await this.#page<{ readonly gaps: DeclaredGap[] }>(`/v3/coverage?${query}`)
    return {
      listed: listed?.data ?? [],
      covered: (covered?.data ?? []).flatMap(({ gaps }) => gaps),
    }
  }

  async #page<Row>(path: string): Promise<Page<Row> | undefined> {
    const url = `${this.#url}${path}&time_format=epoch_us`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${this.#key}` } })
    const text = await answer.text()
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
    return JSON.parse(text) as Page<Row>
  }
}
