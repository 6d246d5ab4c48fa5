import { flagNames, printScaled, VENUES } from '@priorbook/sdk/domain'
import { ABSENT, type LadderSide } from '@priorbook/sdk/tape'
import {
  contractOf,
  decimalJson,
  timeJson,
  type ContractBooksJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { findContract } from '../contracts/find.ts'
import { asKnown } from '../contracts/known-store.ts'
import { readMemberBooks, toReasonJson, type MemberBook } from '../contracts/member-book.ts'
import { forgottenNotice, withheldNotice } from '../contracts/withheld.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { defineRoute, type Route } from '../route.ts'

/** The books of all members of a contract at one instant. */
export const CONTRACT_BOOKS_ROUTE: Route = defineRoute(
  contractOf('contract_books'),
  async (request, context) => {
    const { query, grant } = request
    const { at, depth } = query
    const style = styleOf(query)
    const contract = await findContract(context, grant, request.path.contract_id, query.known_at)
    const known = asKnown(context, query.known_at)
    const books = await readMemberBooks(known, grant, contract.members, at, style)
    const data: ContractBooksJson = {
      contract_id: contract.id,
      at: timeJson(at, style)!,
      members: books.map((book) => toBookJson(book, at, depth, style)),
    }
    const count = books.filter(({ book }) => book !== undefined).length
    return {
      kind: 'data',
      data,
      count,
      meta: noticeMeta(withheldNotice(contract), forgottenNotice(contract)),
    }
  },
)

function toBookJson(
  one: MemberBook,
  at: number,
  depth: number | undefined,
  style: ValueStyle,
): ContractBooksJson['members'][number] {
  const { member, book, row } = one
  const { record } = member.state
  const { priceDecimals, sizeDecimals } = VENUES[record.venue]
  const ladder = ({ price, size }: LadderSide) => ({
    price: price
      .slice(0, depth)
      .map((ticks) => decimalJson(printScaled(ticks, priceDecimals), style)!),
    size: size
      .slice(0, depth)
      .map((units) => decimalJson(printScaled(units, sizeDecimals), style)!),
  })
  const source = row?.source ?? ABSENT
  return {
    venue: record.venue,
    market_id: record.marketId,
    outcome: record.outcomes.find(({ index }) => index === member.yesIndex)?.label ?? null,
    bids: book === undefined ? null : ladder(book.bids),
    asks: book === undefined ? null : ladder(book.asks),
    source_time: source === ABSENT ? null : timeJson(source, style),
    is_complement: one.isComplement,
    flags: row === undefined ? [] : flagNames(row.flags),
    row_id: row?.id ?? null,
    received_time: timeJson(row?.received, style),
    age_ms: row === undefined ? null : decimalJson(printScaled(at - row.received, 3), style),
    reason: toReasonJson(one, style),
  }
}
