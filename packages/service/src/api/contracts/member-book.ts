import {
  POW10,
  VENUES,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Ladder, LadderSide } from '@priorbook/sdk/tape'
import { toGapJson, type ContractReasonJson, type ValueStyle } from '@priorbook/sdk/wire'
import { readAsOf } from '../books/read-as-of.ts'
import { cacheOf } from '../books/store-cache.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { ladderOf } from '../markets/quote.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'
import type { ContractMember } from './find.ts'

/** The recorded book of a member that is read for Yes of the contract. */
export type MemberInstrument = {
  readonly member: ContractMember
  /** Undefined while the venue has not named the outcome's token. */
  readonly instrument: MarketInstrument | undefined
  /** True where the recorded book is that of the other outcome. */
  readonly isComplement: boolean
}

/** A book in terms of Yes, prices in ticks of the venue. */
export type YesBook = { readonly bids: LadderSide; readonly asks: LadderSide }

/** The book of a member at one instant, or why there is none. */
export type MemberBook = MemberInstrument & {
  readonly book?: YesBook | undefined
  readonly row?:
    | {
        readonly id: string
        readonly received: number
        readonly source: number
        readonly flags: number
      }
    | undefined
  readonly reason?: Notice | undefined
  readonly gap?: Gap | undefined
}

/** Chooses the recorded books of members: one per member, also where every token has one. */
export async function memberInstruments(
  context: ApiContext,
  members: readonly ContractMember[],
): Promise<readonly MemberInstrument[]> {
  const chosen: MemberInstrument[] = []
  for (const member of members) {
    const { record } = member.state
    const instruments = await instrumentsOf(context, record)
    const isPerToken = VENUES[record.venue].booksPer === 'token'
    chosen.push({
      member,
      instrument: isPerToken
        ? instruments.find(({ index }) => index === member.yesIndex)
        : instruments[0],
      isComplement: !isPerToken && member.yesIndex !== 0,
    })
  }
  return chosen
}

/** Reads the books of members at one instant. */
export async function readMemberBooks(
  context: ApiContext,
  grant: Grant,
  members: readonly ContractMember[],
  at: Micros,
  style: ValueStyle,
): Promise<readonly MemberBook[]> {
  const books: MemberBook[] = []
  for (const one of await memberInstruments(context, members)) {
    const { instrument } = one
    if (instrument === undefined) {
      books.push({ ...one, reason: NO_TOKEN })
      continue
    }
    const { record } = one.member.state
    const { run, notice, gap } = await readAsOf(context, grant, record, instrument, { at }, style)
    if (run === undefined) {
      books.push({ ...one, reason: notice, gap })
      continue
    }
    const { columns, firstSequence, to } = run
    const row = to - 1
    books.push({
      ...one,
      book: toYes(ladderOf(run), instrument.venue, one.isComplement),
      row: {
        id: `${instrument.venue}:${instrument.key}:${firstSequence + row}`,
        received: columns.received[row]!,
        source: columns.source[row]!,
        flags: columns.flags[row]!,
      },
    })
  }
  return books
}

/** The record of a member as it was known at a time; the newest where it was recorded later. */
export async function recordAt(
  { store }: ApiContext,
  { state: { record } }: ContractMember,
  at: number,
): Promise<MarketRecord> {
  const cache = await cacheOf(store, record.venue)
  // Fills the cache of the market, which then keeps its earlier versions.
  await cache.market(record.marketId)
  return (await cache.marketAt(record.marketId, at))?.record ?? record
}

/** Both sides of a ladder in ticks of the venue, as the book of the other outcome where that is Yes. */
export function toYes(ladder: Ladder, venue: VenueId, isComplement: boolean): YesBook {
  const factor = POW10[VENUES[venue].priceDecimals - ladder.decimals]!
  const one = ladder.one * factor
  const [bids, asks] = isComplement
    ? [ladder.asks(), ladder.bids()]
    : [ladder.bids(), ladder.asks()]
  const scale = ({ price, size }: LadderSide): LadderSide => {
    if (factor === 1 && !isComplement) return { price, size }
    return {
      price: price.map((ticks) => (isComplement ? one - ticks * factor : ticks * factor)),
      size,
    }
  }
  return { bids: scale(bids), asks: scale(asks) }
}

/** Why a member has no book, on the wire. */
export function toReasonJson(
  { reason, gap }: Pick<MemberBook, 'reason' | 'gap'>,
  style: ValueStyle,
): ContractReasonJson | null {
  if (reason === undefined) return null
  const { code, message } = reason
  return { code, message, gap: gap === undefined ? null : toGapJson(gap, style) }
}

const NO_TOKEN: Notice = {
  code: 'no_book',
  message: 'The venue has not published the tokens of the market.',
}
