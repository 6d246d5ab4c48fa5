import { NET_ONE } from '@priorbook/sdk/backtest'
import { toAlertBook, valueOf, type BookRule } from '@priorbook/sdk/alerts'
import { POW10, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { feesOf } from '../api/contracts/net-book.ts'
import type { BookTrack } from './book-track.ts'

/** A value of some books, and the rows that it was read from where there are several. */
export type Measured = {
  readonly value: bigint
  readonly yes?: BookTrack
  readonly no?: BookTrack
}

/** Reads a value from the present books; undefined where they have none. */
export type Measure = (at: number) => Measured | undefined | Promise<Measured | undefined>

/** What a rule watches in one book. */
export function measureBook(rule: BookRule, track: BookTrack): Measure {
  const { venue } = track.book
  return () => {
    if (!track.isKnown) return undefined
    const value = valueOf(rule, toAlertBook(track.ladder, venue))
    return value === undefined ? undefined : { value }
  }
}

/** A member of a contract: the book that is read for Yes. */
export type EdgeMember = {
  readonly track: BookTrack
  /** The record that was known at a time, with the fees of then. */
  readonly recordAt: (at: number) => Promise<MarketRecord>
  /** True where the book is that of the other outcome. */
  readonly isComplement: boolean
}

/** The best edge over all pairs of members: what 1 costs less than 1, after fees. */
export function measureEdge(members: readonly EdgeMember[]): Measure {
  return async (at) => {
    let best: Measured | undefined
    const prices: (NetPair | undefined)[] = []
    for (const member of members) prices.push(netPrices(member, await member.recordAt(at), at))
    for (const [i, yes] of members.entries()) {
      for (const [j, no] of members.entries()) {
        const [yesNet, noNet] = [prices[i]?.yes, prices[j]?.no]
        if (i === j || yesNet === undefined || noNet === undefined) continue
        const value = BigInt(NET_ONE) - BigInt(yesNet) - BigInt(noNet)
        if (best === undefined || value > best.value) {
          best = { value, yes: yes.track, no: no.track }
        }
      }
    }
    return best
  }
}

type NetPair = { readonly yes: number | undefined; readonly no: number | undefined }

// What one share of Yes and one of No cost after the fee of a taker; No is bought from the bids of Yes.
function netPrices(
  { track, isComplement }: EdgeMember,
  record: MarketRecord,
  at: number,
): NetPair | undefined {
  const fees = feesOf(record, at)
  if ('reason' in fees || !track.isKnown) return undefined
  const { decimals, one, bestBid, bestAsk } = track.ladder
  const factor = POW10[VENUES[record.venue].priceDecimals - decimals]!
  const bid = (isComplement ? one - bestAsk : bestBid) * factor
  const ask = (isComplement ? one - bestBid : bestAsk) * factor
  const whole = one * factor
  return {
    yes: ask >= whole ? undefined : fees.net.buy(ask),
    no: bid <= 0 ? undefined : fees.net.buy(whole - bid),
  }
}
