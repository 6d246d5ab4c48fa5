import { DAY_MICROS, startOfDay, printMicros, type Micros } from '@priorbook/sdk/domain'
import {
  contractOf,
  Problem,
  ROOT_COLUMNS,
  timeJson,
  type MarketProofJson,
  type RootJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { ProofBook, SignedRoot } from '../../proofs/proof-book.ts'
import { findNamedMarket } from '../markets/find.ts'
import { answerList } from '../pages/answer-rows.ts'
import { noticeMeta, presentNotices } from '../pages/notices.ts'
import { NO_END, openPage, rangeMeta, styleOf } from '../pages/page.ts'
import { defineRoute, type Meta, type Notice, type Route } from '../route.ts'

const NO_PROOFS: Notice = {
  code: 'no_proofs',
  message: 'This installation has not signed any root.',
}

const LEAVES_REMOVED: Notice = {
  code: 'leaves_removed',
  message:
    'Retention removed the leaves of that day: its roots are listed, but nothing can be proved.',
}

const PROOF_LIST_ROUTE: Route = defineRoute(contractOf('proofs'), async (request, context) => {
  const { query } = request
  const style = styleOf(query)
  const page = openPage(request, context, {}, NO_END)
  const book = context.proofs?.book()
  const found =
    book?.roots({
      // Roots show no rows, so a plan's window does not hide them.
      from: startOfDay(query.start_time ?? 0),
      to: page.end,
      order: page.order,
      after: page.state['sequence'] as number | undefined,
      limit: page.limit + 1,
    }) ?? []
  const roots = found.slice(0, page.limit)
  const last = roots.at(-1)
  return answerList(request, {
    type: 'root',
    rows: roots.map((root) => toRootJson(root, style)),
    columns: ROOT_COLUMNS,
    meta: { range: rangeMeta(page.range, style), ...keyMeta(book) },
    notices: presentNotices(roots.length === 0 && page.isFirst ? NO_PROOFS : undefined),
    page,
    next: found.length > roots.length ? { sequence: last!.sequence } : undefined,
  })
})

const PROOF_DAY_ROUTE: Route = defineRoute(contractOf('proof_day'), async (request, context) => {
  const { path, query, grant } = request
  const { day } = path
  const { venue, market_id: market } = query
  if ((venue === undefined) !== (market === undefined)) {
    const param = venue === undefined ? 'venue' : 'market_id'
    throw new Problem('invalid_parameter', 'venue and market_id go together', { param })
  }
  if (venue !== undefined && market !== undefined) {
    await findNamedMarket(context, grant, venue, market)
  }
  const book = context.proofs?.book()
  const roots = book?.rootsOf(day) ?? []
  const newest = roots.at(-1)
  const meta = keyMeta(book)
  if (book === undefined || newest === undefined) {
    const notice = whyUnsigned(book, day, context.now())
    return { kind: 'data', data: null, count: 0, meta: { ...meta, ...noticeMeta(notice) } }
  }
  const style = styleOf(query)
  const isGone = book.removedOf(day)?.isTreeGone === true
  const proof: MarketProofJson | null =
    isGone || venue === undefined || market === undefined
      ? null
      : { venue, market_id: market, ...book.leavesOf(newest, { venue, market }) }
  const data = { day: dayText(day), roots: roots.map((root) => toRootJson(root, style)) }
  const notices = isGone ? noticeMeta(LEAVES_REMOVED) : {}
  return { kind: 'data', data: { ...data, market: proof }, count: 1, meta: { ...meta, ...notices } }
})

/** Signed roots, and what they prove of a market. */
export const PROOF_ROUTES: readonly Route[] = [PROOF_LIST_ROUTE, PROOF_DAY_ROUTE]

function whyUnsigned(book: ProofBook | undefined, day: number, now: number): Notice {
  if (now < day) return { code: 'future_range', message: 'The day has not begun.' }
  if (now < day + DAY_MICROS) {
    return { code: 'day_running', message: 'The day is still running; it is signed after its end.' }
  }
  if (book === undefined) return NO_PROOFS
  if (book.isWaiting(day)) {
    return { code: 'not_signed_yet', message: 'The day is over, but its root is not signed yet.' }
  }
  if (book.removedOf(day) !== undefined) {
    const message = 'Retention removed the chunks of that day before its root was signed.'
    return { code: 'removed_unsigned', message }
  }
  return { code: 'no_sealed_rows', message: 'No chunk was sealed with a last row of that day.' }
}

function keyMeta(book: ProofBook | undefined): Meta {
  return { key: book?.keys().at(-1)?.key ?? null }
}

function toRootJson(root: SignedRoot, style: ValueStyle): RootJson {
  const { number, sequence, size, text, hash, signature, key, signed } = root
  return {
    day: dayText(root.day),
    number,
    sequence,
    size,
    root: root.root,
    statement: text,
    statement_hash: hash,
    signature,
    key,
    signed_time: timeJson(signed, style)!,
  }
}

function dayText(day: number): string {
  return printMicros(day as Micros).slice(0, 10)
}
