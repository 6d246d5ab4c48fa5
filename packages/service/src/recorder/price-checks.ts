import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { Ladder, Observation } from '@priorbook/sdk/tape'
import type { ParityNote } from '../store/store.ts'
import type { BatchRows } from './batch.ts'
import type { TickGrid } from './tick-grid.ts'

/** The best prices of a book. */
type Best = Pick<Ladder, 'bestBid' | 'bestAsk' | 'one'>

/** Where checks of prices find the books and the prices that markets allow. */
export type PriceSources = {
  bookOf(key: string): Best
  gridOf(marketId: string): TickGrid | undefined
}

/** Checks the prices of new rows against the other book of their market and against its ticks. */
export class PriceChecks {
  private readonly venue: VenueId
  private readonly sources: PriceSources
  private readonly isPaired: boolean

  constructor(venue: VenueId, sources: PriceSources) {
    this.venue = venue
    this.sources = sources
    this.isPaired = VENUES[venue].booksPer === 'token'
  }

  /** Notes what is wrong with the rows of one message: those from a number on. */
  check({ observations, parity }: BatchRows, from: number): void {
    // A message of several parts may have several rows of a market, whose books are compared once.
    const compared = observations.length - from > 2 ? new Set<string>() : undefined
    for (let at = from; at < observations.length; at++) {
      const row = observations[at]!
      const { market } = row.instrument
      if (this.sources.gridOf(market)?.isLeftBy(row) === true) {
        parity.push(this.note(market, row, 'off_tick'))
      }
      if (!this.isPaired || at === from || compared?.has(market) === true) continue
      const other = this.otherBook(observations, from, at)
      if (other === undefined) continue
      compared?.add(market)
      const own = this.sources.bookOf(row.instrument.key)
      const across = this.sources.bookOf(other.instrument.key)
      if (isSumOff(own, across)) parity.push(this.note(market, row, 'sum_off'))
      if (isCrossed(own, across)) parity.push(this.note(market, row, 'complement_crossed'))
    }
  }

  // One message that changes both books of a market shows both at one instant of the venue.
  private otherBook(
    observations: readonly Observation[],
    from: number,
    at: number,
  ): Observation | undefined {
    const { market, key } = observations[at]!.instrument
    const before = observations[at - 1]!
    if (before.instrument.market === market && before.instrument.key !== key) return before
    for (let index = from; index < at; index++) {
      const { instrument } = observations[index]!
      if (instrument.market === market && instrument.key !== key) return observations[index]
    }
    return undefined
  }

  private note(
    marketId: string,
    { received, journal }: Observation,
    check: ParityNote['check'],
  ): ParityNote {
    return { venue: this.venue, marketId, received, journal, check }
  }
}

/**
 * A bid for one outcome is an ask for the other, so a best bid and the best ask of the other book add up to
 * 1. A side without levels has the best price 0 or 1, which fits a mirrored side without levels.
 */
function isSumOff(a: Best, b: Best): boolean {
  const whole = a.one * b.one
  return (
    a.bestBid * b.one + b.bestAsk * a.one !== whole ||
    a.bestAsk * b.one + b.bestBid * a.one !== whole
  )
}

/** Both outcomes together can neither be bought below 1 nor sold above it. */
function isCrossed(a: Best, b: Best): boolean {
  const whole = a.one * b.one
  return (
    a.bestAsk * b.one + b.bestAsk * a.one < whole || a.bestBid * b.one + b.bestBid * a.one > whole
  )
}
