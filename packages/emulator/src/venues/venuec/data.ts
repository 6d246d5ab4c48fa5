import type { Fill, Payload, UpstreamAnswer, UpstreamRequest, World } from '../../core/upstream.ts'
import { failed, good } from './answers.ts'
import type { Condition, Conditions } from './conditions.ts'
import { wholeOf } from './gamma-query.ts'
import { eventTitleOf, outcomesOf } from './texts.ts'
import { priceText, sizeText } from './token-book.ts'
import { tradedOf, type Traded } from './traded.ts'

/** The path of the data service, which has the trades of the past. */
export const DATA = '/data'

/** The trades of every market, for GET /trades. */
export interface DataService {
  note(condition: Condition, fill: Fill, at: number): void
  answer(request: UpstreamRequest): UpstreamAnswer
}

/** Rows per page by default and at most, and the last offset that is answered. */
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 500
const MAX_OFFSET = 3_000
/** Trades that are kept of each market: more than pages can reach. */
const KEPT = 5_000

type Kept = Traded & { readonly at: number }

/** Creates the data service without any trades. */
export function createData(world: World, conditions: Conditions): DataService {
  const kept = new Map<Condition, Kept[]>()
  let calls = 0

  function trades(query: URLSearchParams): UpstreamAnswer {
    const condition = conditions.byCondition(query.get('market') ?? '')
    const limit = wholeOf(query, 'limit', DEFAULT_LIMIT)
    const offset = wholeOf(query, 'offset', 0)
    if (limit === undefined || offset === undefined) return refused('invalid limit or offset')
    if (offset > MAX_OFFSET) {
      return refused(`max historical activity offset of ${MAX_OFFSET} exceeded`)
    }
    if (condition === undefined) return good([], 'data_trades')
    const page = newestFirst(kept.get(condition) ?? [], ++calls).slice(
      offset,
      offset + Math.min(limit, MAX_LIMIT),
    )
    const payloads = page.map(({ index, fill, hash }): Payload => {
      return { kind: 'trade', key: condition.tokens[index], id: hash, fill }
    })
    const rows = page.map((trade) => tradeObject(world, condition, trade))
    return good(rows, 'data_trades', payloads)
  }

  return {
    note(condition, fill, at) {
      const list = kept.get(condition) ?? []
      list.push({ ...tradedOf(world, condition, fill, at), at })
      kept.set(condition, list.length > 2 * KEPT ? list.slice(-KEPT) : list)
    },
    answer: ({ path, query }) =>
      path === `${DATA}/trades` ? trades(query) : failed(404, { error: 'not found' }, 'data'),
  }
}

function refused(error: string): UpstreamAnswer {
  return failed(400, { error }, 'data_trades')
}

// The venue orders trades by their second. Those of one second come in any order, which changes with every
// call, so that a client which trusts the order loses some at the end of a page.
function newestFirst(trades: readonly Kept[], turn: number): readonly Kept[] {
  const place = ({ hash }: Kept): number =>
    Math.imul(Number.parseInt(hash.slice(2, 10), 16), 2 * turn + 1) >>> 0
  return trades.toSorted((a, b) => secondOf(b) - secondOf(a) || place(a) - place(b))
}

function secondOf({ at }: Kept): number {
  return Math.floor(at / 1000)
}

function tradeObject(world: World, condition: Condition, trade: Kept): object {
  const { index, fill, hash } = trade
  return {
    proxyWallet: `0x${world.hex(`venuec/wallet/${hash}`, 40)}`,
    side: fill.taker === 'buy' ? 'BUY' : 'SELL',
    asset: condition.tokens[index],
    conditionId: condition.conditionId,
    size: Number(sizeText(fill.size)),
    price: Number(priceText(fill.price)),
    timestamp: secondOf(trade),
    title: eventTitleOf(condition.proposition),
    slug: condition.slug,
    eventSlug: condition.event.slug,
    outcome: outcomesOf(condition.proposition)[index],
    outcomeIndex: index,
    transactionHash: hash,
  }
}
