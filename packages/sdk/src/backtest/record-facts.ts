import { parseScaled, type MarketRecord } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'
import { MONEY_DECIMALS, MONEY_ONE } from './money.ts'

/** True while a record does not say that trading is over or stopped. */
export function isTrading(record: MarketRecord | undefined): boolean {
  const status = record?.status
  return status === undefined || status === 'open' || status === 'scheduled'
}

/** True while the outcome is disputed. */
export function isDisputed(record: MarketRecord | undefined): boolean {
  return record?.status === 'disputed' || record?.resolution?.state === 'disputed'
}

/** What the venue said a share pays, and only when it is its last word; never what prices suggest. */
export function finalPayouts(record: MarketRecord): readonly number[] | undefined {
  const { resolution, winningOutcome, outcomes, status } = record
  const isFinal = resolution?.state === 'final' || status === 'resolved' || status === 'voided'
  if (!isFinal) return undefined
  if (resolution?.payouts !== undefined) {
    const payouts = resolution.payouts.map((payout) => parseScaled(payout, MONEY_DECIMALS))
    return payouts.length >= 2 ? payouts : undefined
  }
  if (winningOutcome === undefined || status === 'voided' || outcomes.length < 2) return undefined
  const index = outcomes.findIndex(({ label }) => label === winningOutcome)
  return index < 0 ? undefined : outcomes.map((_, each) => (each === index ? MONEY_ONE : 0))
}

/** Which outcome of its market an instrument's prices are of. */
export function outcomeOf(record: MarketRecord | undefined, instrument: ReplayInstrument): number {
  if (instrument.venue !== 'venuec') return 0
  const found = record?.outcomes.find(
    ({ tokenId, label }) => tokenId === instrument.key || label === instrument.outcome,
  )
  return found?.index ?? 0
}
