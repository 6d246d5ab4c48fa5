import { check } from './steps.ts'

// The path of a market, by venue.
const PATHS: Readonly<Record<string, string>> = {
  venuea: '/v3/venuea-prediction/',
  venueb: '/v3/venueb/',
  venuec: '/v3/venuec/markets/',
}

type Row = { readonly id: string }
type Page = {
  readonly data: readonly Row[]
  readonly pagination: { readonly next_cursor: string | null }
}
type Market = {
  readonly venue: string
  readonly market_id: string
  readonly coverage: { readonly observations: number }
}

/** Reads a running service as a client does. */
export class RecordedRows {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  /** The recorded markets of each venue with the most observations. */
  async markets(perVenue: number): Promise<readonly Market[]> {
    const found: Market[] = []
    for (const venue of Object.keys(PATHS)) {
      const address = `/v3/markets?venue=${venue}&status=open&limit=100`
      const { data } = (await this.#read(address)) as { readonly data: readonly Market[] }
      const recorded = data.filter(({ coverage }) => coverage.observations > 0)
      recorded.sort((a, b) => b.coverage.observations - a.coverage.observations)
      found.push(...recorded.slice(0, perVenue))
    }
    return found
  }

  /** Every observation of markets so far: its id, and its JSON. */
  async read(markets: readonly Market[]): Promise<ReadonlyMap<string, string>> {
    const rows = new Map<string, string>()
    for (const { venue, market_id: id } of markets) {
      let cursor: string | null = null
      do {
        const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const address = `${PATHS[venue]}${encodeURIComponent(id)}/changes?limit=1000${more}`
        const { data, pagination } = (await this.#read(address)) as Page
        for (const row of data) rows.set(row.id, JSON.stringify(row))
        cursor = pagination.next_cursor
      } while (cursor !== null)
    }
    return rows
  }

  async #read(address: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#key}` }
    const response = await fetch(this.#url + address, { headers })
    const text = await response.text()
    check(response.status === 200, `${address} answers ${response.status}: ${text}`)
    return JSON.parse(text)
  }
}
