import {
  MONEY_DECIMALS,
  NET_DECIMALS,
  NET_ONE,
  printMoney,
  SHARE_DECIMALS,
} from '@priorbook/sdk/backtest'
import { parseScaled, POW10, printScaled, PriorbookError, VENUES } from '@priorbook/sdk/domain'
import {
  contractOf,
  decimalJson,
  DISCLAIMER,
  Problem,
  timeJson,
  type ConsolidatedJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { printExact } from '../execution/exact.ts'
import { findContract } from '../contracts/find.ts'
import { asKnown } from '../contracts/known-store.ts'
import {
  readMemberBooks,
  recordAt,
  toReasonJson,
  type MemberBook,
} from '../contracts/member-book.ts'
import {
  describeFee,
  feesOf,
  mergeSide,
  type MemberFees,
  type NetBook,
  type NetLevel,
} from '../contracts/net-book.ts'
import { averagePrice, splitOrder, type OrderPart } from '../contracts/split-order.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'

// Levels per side where the request does not say.
const DEPTH = 20

/** One book over all venues in net prices, and the best way to trade a size. */
export const CONTRACT_CONSOLIDATED_ROUTE: Route = defineRoute(
  contractOf('contract_consolidated'),
  async (request, context) => {
    const { query, grant } = request
    const { at, side, depth = DEPTH } = query
    const style = styleOf(query)
    const size = readOrder(query.size, side)
    const contract = await findContract(context, grant, request.path.contract_id, query.known_at)
    const known = asKnown(context, query.known_at)
    const read = await readMemberBooks(known, grant, contract.members, at, style)
    const members = await withFees(known, read, at)
    const books = members.flatMap(({ book, fees }, member): NetBook[] =>
      book === undefined || fees === undefined ? [] : [{ member, book, fees }],
    )
    const asks = mergeSide(books, 'buy')
    const bids = mergeSide(books, 'sell')
    const data: ConsolidatedJson = {
      contract_id: contract.id,
      at: timeJson(at, style)!,
      members: members.map((one) => toMemberJson(one, at, style)),
      bids: toSideJson(members, bids.slice(0, depth), 'sell', style),
      asks: toSideJson(members, asks.slice(0, depth), 'buy', style),
      pair: toPairJson(members, style),
      order:
        size === undefined || side === undefined
          ? null
          : toOrderJson(members, books, side === 'buy' ? asks : bids, side, size, style),
      disclaimer: DISCLAIMER,
    }
    const short = data.order !== null && !data.order.is_complete ? TOO_FEW : undefined
    return {
      kind: 'data',
      data,
      count: 1,
      meta: noticeMeta(
        short,
        mixedCollateral(books),
        withheldNotice(contract),
        forgottenNotice(contract),
      ),
    }
  },
)

const TOO_FEW: Notice = {
  code: 'insufficient_depth',
  message: 'The recorded books do not hold the whole size.',
}

function mixedCollateral(books: readonly NetBook[]): Notice | undefined {
  const names = [...new Set(books.map(({ fees }) => VENUES[fees.net.venue].units.collateral))]
  if (names.length < 2) return undefined
  return {
    code: 'collateral_mixed',
    message: 'Prices in different currencies are compared one to one.',
    collateral: names,
  }
}

type FeedMember = MemberBook & { readonly fees?: MemberFees | undefined }

// A member whose fees are not known is left out: its prices cannot be compared.
async function withFees(
  context: ApiContext,
  books: readonly MemberBook[],
  at: number,
): Promise<readonly FeedMember[]> {
  const members: FeedMember[] = []
  for (const book of books) {
    const fees = feesOf(await recordAt(context, book.member, at), at)
    if ('reason' in fees) members.push({ ...book, reason: book.reason ?? fees.reason })
    else members.push({ ...book, fees })
  }
  return members
}

function readOrder(text: string | undefined, side: 'buy' | 'sell' | undefined): number | undefined {
  if (text === undefined) return undefined
  if (side === undefined) {
    throw new Problem('invalid_parameter', 'side is needed with size', {
      param: 'side',
      allowed: ['buy', 'sell'],
    })
  }
  try {
    const size = parseScaled(text, SHARE_DECIMALS)
    if (size > 0) return size
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
  }
  throw new Problem('invalid_parameter', `size is ${JSON.stringify(text)}, not a size`, {
    param: 'size',
    hint: `A positive decimal with at most ${SHARE_DECIMALS} decimals, such as 100.`,
  })
}

function toMemberJson(
  one: FeedMember,
  at: number,
  style: ValueStyle,
): ConsolidatedJson['members'][number] {
  const { member, book, fees, row } = one
  const { venue, marketId, outcomes } = member.state.record
  const { priceDecimals } = VENUES[venue]
  const bid = book?.bids.price[0]
  const ask = book?.asks.price[0]
  const price = (ticks: number | undefined) =>
    ticks === undefined ? null : decimalJson(printScaled(ticks, priceDecimals), style)
  const net = (units: number | undefined) =>
    units === undefined ? null : decimalJson(printScaled(units, NET_DECIMALS), style)
  return {
    venue,
    market_id: marketId,
    outcome: outcomes.find(({ index }) => index === member.yesIndex)?.label ?? null,
    is_included: book !== undefined && fees !== undefined,
    best_bid: price(bid),
    best_ask: price(ask),
    net_bid: net(bid === undefined ? undefined : fees?.net.sell(bid)),
    net_ask: net(ask === undefined ? undefined : fees?.net.buy(ask)),
    net_no_ask: net(noCost(one)),
    fee:
      fees === undefined
        ? null
        : {
            formula: describeFee(fees.schedule),
            basis: fees.schedule.basis,
            source: fees.schedule.source,
          },
    row_id: row?.id ?? null,
    received_time: timeJson(row?.received, style),
    age_ms: row === undefined ? null : decimalJson(printScaled(at - row.received, 3), style),
    reason: toReasonJson(one, style),
  }
}

// Who buys No takes the best bid of Yes.
function noCost({ member, book, fees }: FeedMember): number | undefined {
  const bid = book?.bids.price[0]
  if (bid === undefined) return undefined
  const one = POW10[VENUES[member.state.record.venue].priceDecimals]!
  return fees?.net.buy(one - bid)
}

function toPairJson(members: readonly FeedMember[], style: ValueStyle): ConsolidatedJson['pair'] {
  let best: { yes: number; no: number; edge: number } | undefined
  for (const [yes, { book, fees }] of members.entries()) {
    const ask = book?.asks.price[0]
    const cost = ask === undefined ? undefined : fees?.net.buy(ask)
    if (cost === undefined) continue
    for (const [no, other] of members.entries()) {
      const rest = no === yes ? undefined : noCost(other)
      if (rest === undefined) continue
      const edge = NET_ONE - cost - rest
      if (best === undefined || edge > best.edge) best = { yes, no, edge }
    }
  }
  if (best === undefined) return null
  return { ...best, edge: decimalJson(printScaled(best.edge, NET_DECIMALS), style)! }
}

function toSideJson(
  members: readonly FeedMember[],
  levels: readonly NetLevel[],
  side: 'buy' | 'sell',
  style: ValueStyle,
): ConsolidatedJson['bids'] {
  const venueOf = ({ member }: NetLevel) => members[member]!.member.state.record.venue
  const print = (units: number, decimals: number) =>
    decimalJson(printScaled(units, decimals), style)!
  return {
    net_price: levels.map(({ net }) => print(net, NET_DECIMALS)),
    size: levels.map((level) => {
      const { sizeDecimals } = VENUES[venueOf(level)]
      if (side === 'sell') return print(level.size, sizeDecimals)
      return print(
        members[level.member]!.fees!.net.delivered(level.price, level.size),
        SHARE_DECIMALS,
      )
    }),
    venue: levels.map(venueOf),
    member: levels.map(({ member }) => member),
    price: levels.map((level) => print(level.price, VENUES[venueOf(level)].priceDecimals)),
    native_size: levels.map((level) => print(level.size, VENUES[venueOf(level)].sizeDecimals)),
  }
}

type OrderJson = NonNullable<ConsolidatedJson['order']>

function toOrderJson(
  members: readonly FeedMember[],
  books: readonly NetBook[],
  levels: readonly NetLevel[],
  side: 'buy' | 'sell',
  size: number,
  style: ValueStyle,
): OrderJson {
  const { parts, filled } = splitOrder(books, levels, side, size)
  const shares = (units: number) => decimalJson(printScaled(units, SHARE_DECIMALS), style)!
  const money = (units: number) => decimalJson(printMoney(units), style)!
  const cash = parts.reduce((sum, part) => sum + part.cash, 0)
  const average = averagePrice(cash, filled, side)
  return {
    side,
    size: shares(size),
    filled_size: shares(filled),
    is_complete: filled === size,
    net_amount: money(cash),
    fee: money(parts.reduce((sum, part) => sum + part.fee, 0)),
    average_price: average === undefined ? null : decimalJson(printExact(average), style),
    parts: parts.map((part) => toPartJson(members[part.member]!, part, style)),
  }
}

function toPartJson(
  { member }: FeedMember,
  part: OrderPart,
  style: ValueStyle,
): OrderJson['parts'][number] {
  const { venue, marketId } = member.state.record
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const print = (units: number, decimals: number) =>
    decimalJson(printScaled(units, decimals), style)!
  return {
    venue,
    market_id: marketId,
    size: print(part.size, sizeDecimals),
    delivered: print(part.delivered, SHARE_DECIMALS),
    limit_price: print(part.limit, priceDecimals),
    levels: part.levels,
    amount: print(part.amount, MONEY_DECIMALS),
    fee: print(part.fee, MONEY_DECIMALS),
    net_amount: print(part.cash, MONEY_DECIMALS),
  }
}
