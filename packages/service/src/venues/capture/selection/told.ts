import {
  CAPTURE_TIERS,
  type CaptureDecision,
  type MarketRecord,
  type TapeEvent,
} from '@priorbook/sdk/domain'
import type { CaptureRequest, Normalized } from '../contract.ts'
import { isObject } from '../fields.ts'

/** Decides about a market of an answer; undefined where its record stays as it is. */
export type Decide = (record: MarketRecord) => CaptureDecision | undefined

/**
 * Completes a request with the decisions about the markets of its answer, so that whoever reads the journal
 * keeps the same markets; undefined where none of them is recorded. The largest group of markets that share a
 * decision is not listed. Markets about which nothing is decided any more are `unchanged`.
 */
export function tellSelection(
  request: CaptureRequest,
  records: readonly MarketRecord[],
  decide: Decide,
): CaptureRequest | undefined {
  const groups = new Map<string, CaptureDecision & { readonly markets: string[] }>()
  const unchanged: string[] = []
  for (const record of records) {
    const decision = decide(record)
    if (decision === undefined) {
      unchanged.push(record.marketId)
      continue
    }
    const { tier, why } = decision
    const name = `${tier} ${why}`
    const group = groups.get(name) ?? { tier, why, markets: [] }
    group.markets.push(record.marketId)
    groups.set(name, group)
  }
  if (groups.size === 0) return request
  const sorted = [...groups.values()].sort((a, b) => b.markets.length - a.markets.length)
  if (unchanged.length === 0 && sorted.every(({ tier }) => tier === 'none')) return undefined
  const captured = sorted.map(({ tier, why, markets }, at) =>
    at === 0 ? { tier, why } : { tier, why, markets },
  )
  return { ...request, captured, ...(unchanged.length === 0 ? {} : { unchanged }) }
}

/** A market that was recorded and is not selected any more is followed to its end. */
export function toFollowed(
  decision: CaptureDecision | undefined,
  isKnown: boolean,
): CaptureDecision | undefined {
  if (decision?.tier !== 'none' || !isKnown) return decision
  const { why } = decision
  return { tier: 'catalogue', why: `${why}; it was recorded before and is followed to its end` }
}

/** Keeps the markets that a request says are recorded, with the decisions about them. */
export function heedSelection(request: CaptureRequest, normalized: Normalized): Normalized {
  const { captured, unchanged } = request
  if (!Array.isArray(captured)) return normalized
  const asTheyAre = new Set<unknown>(Array.isArray(unchanged) ? unchanged : [])
  const named = new Map<string, CaptureDecision>()
  let others: CaptureDecision | undefined
  for (const said of captured as readonly unknown[]) {
    const decision = readDecision(said)
    if (decision === undefined) continue
    const { markets } = said as { readonly markets?: unknown }
    if (!Array.isArray(markets)) others = decision
    else for (const market of markets) named.set(String(market), decision)
  }
  const events = normalized.events.flatMap((event): readonly TapeEvent[] => {
    if (event.kind !== 'market' || asTheyAre.has(event.record.marketId)) return [event]
    const capture = named.get(event.record.marketId) ?? others
    if (capture === undefined) return [event]
    return capture.tier === 'none' ? [] : [{ ...event, record: { ...event.record, capture } }]
  })
  return { ...normalized, events }
}

function readDecision(said: unknown): CaptureDecision | undefined {
  if (!isObject(said)) return undefined
  const tier = CAPTURE_TIERS.find((one) => one === said['tier'])
  const { why } = said
  return tier === undefined ? undefined : { tier, why: typeof why === 'string' ? why : '' }
}
