import type { ConsolidatedJson, ContractBooksJson, SpreadJson } from '@priorbook/sdk/client'
import type { Panel } from '../app/panel.ts'
import { isOneInstant, sortEdges } from '../model/edge.ts'

// How far behind the wall clock the present is: rows are recorded within this time, so that all requests
// about it see the same books.
const SETTLE_MICROS = 1_000_000
// How often an instant is read again where a book arrived between two of its requests.
const ATTEMPTS = 3

/** The newest instant of which all requests see the same books. */
export function settledNow(): number {
  return Date.now() * 1000 - SETTLE_MICROS
}

/** Everything about a contract at one instant. */
export type ContractInstant = {
  readonly at: number
  readonly books: ContractBooksJson
  readonly prices: ConsolidatedJson
  /** Pairs of members with an edge at this instant, the largest first. */
  readonly edges: readonly SpreadJson[]
  /** Sentences of the server about the instant, such as that currencies are mixed. */
  readonly notices: readonly string[]
}

/** What to read. */
export type InstantQuery = {
  readonly at: number
  readonly depth: number
  readonly side: 'buy' | 'sell'
  readonly size: string
}

/** Reads the books, the consolidated book and the edges of one instant. */
export async function readInstant(
  panel: Panel,
  contractId: string,
  query: InstantQuery,
  signal: AbortSignal,
): Promise<ContractInstant> {
  const { at, depth, side, size } = query
  const { client, note } = panel
  for (let attempt = 1; ; attempt++) {
    note('contractBooks', { at, depth }, contractId)
    const asked = client.contractBooks(contractId, { at, depth }, { signal })
    note('contractConsolidated', { at, depth, side, size }, contractId)
    const merged = client.contractConsolidated(contractId, { at, depth, side, size }, { signal })
    const [books, prices, edges] = await Promise.all([
      asked,
      merged,
      readEdges(panel, contractId, at, signal),
    ])
    if (attempt < ATTEMPTS && !isOneInstant(books.data, prices.data)) continue
    const notices = prices.notices.filter(({ code }) => SHOWN.has(code))
    return {
      at,
      books: books.data,
      prices: prices.data,
      edges,
      notices: notices.map(({ message }) => message),
    }
  }
}

const SHOWN = new Set(['collateral_mixed', 'members_withheld'])

/** The best prices after fees over all members, and the edge. */
export type ContractQuote = {
  readonly bid: {
    readonly price: string
    readonly venue: ConsolidatedJson['bids']['venue'][number]
  }
  readonly ask: ContractQuote['bid']
  readonly edge: SpreadJson | undefined
}

/** Reads only the best prices and the edge of an instant, for lists. */
export async function readQuote(
  panel: Panel,
  contractId: string,
  at: number,
  signal: AbortSignal,
): Promise<Partial<ContractQuote>> {
  const { client, note } = panel
  note('contractConsolidated', { at, depth: 1 }, contractId)
  const [{ data }, edges] = await Promise.all([
    client.contractConsolidated(contractId, { at, depth: 1 }, { signal }),
    readEdges(panel, contractId, at, signal),
  ])
  const best = ({ net_price: [price], venue: [venue] }: ConsolidatedJson['bids']) =>
    price === undefined || venue === undefined ? undefined : { price: String(price), venue }
  const [bid, ask] = [best(data.bids), best(data.asks)]
  return { ...(bid && { bid }), ...(ask && { ask }), edge: edges[0] }
}

// The edges of one microsecond are those of the instant: their best moment can only be itself.
async function readEdges(
  { client, note }: Panel,
  contractId: string,
  at: number,
  signal: AbortSignal,
): Promise<readonly SpreadJson[]> {
  const params = { start_time: at, end_time: at + 1 }
  note('contractSpreads', params, contractId)
  const { data } = await client.contractSpreads(contractId, params, { signal }).page()
  return sortEdges(data)
}
