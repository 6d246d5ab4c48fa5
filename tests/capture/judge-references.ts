import type { Gap } from '@priorbook/sdk/domain'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** A price that was on the wire: whole numbers of 10^−18. */
type Told = { readonly value: bigint; readonly at: number; readonly isSpoiled: boolean }

const KEY = /^reference\/[a-z0-9]+\/([A-Z]+)$/
/** The assets that a recorder records unless it is told otherwise. */
const RECORDED: ReadonlySet<string> = new Set(['BTC', 'ETH'])
const UNDELIVERED: ReadonlySet<string> = new Set(['dropped', 'stalled'])
/** What clocks and sockets may differ by, in µs. */
const TOLERANCE = 300_000

/** True for the name of a sample of a reference price. */
export function isReferenceName(name: string): boolean {
  return name.includes(':reference/')
}

/**
 * Compares the stored reference prices with what the emulator says that it sent: each stored price was on
 * the wire, digit by digit and in order, and each one on the wire is stored or lies in a gap.
 */
export async function judgeReferences(
  entries: readonly TruthEntry[],
  store: Store,
  until: number,
  complain: (text: string) => void,
): Promise<number> {
  let count = 0
  for (const [key, told] of gatherPrices(entries)) {
    const ref = { venue: 'venuec', key } as const
    const { rows } = await store.samples({
      ...ref,
      metric: 'price',
      order: 'asc',
      limit: 1_000_000,
    })
    const stored = Array.from({ length: rows.count }, (_, row) => {
      return BigInt(rows.value[row]!) * 10n ** 10n + BigInt(rows.fine[row]!)
    })
    count += stored.length
    const first = rows.received[0] ?? 0
    const gaps = await store.gaps(ref)
    let next = 0
    for (const { value, at, isSpoiled } of told) {
      if (value === stored[next]) next++
      else if (!isSpoiled && at > first && at < until && !isInGap(gaps, at)) {
        complain(`${key}: ${value} at ${at} is not stored`)
      }
    }
    if (stored.length === 0) complain(`${key}: ${told.length} prices on the wire, none stored`)
    if (next < stored.length) complain(`${key}: row ${next + 1} was never on the wire`)
  }
  return count
}

function gatherPrices(entries: readonly TruthEntry[]): Map<string, Told[]> {
  const prices = new Map<string, Told[]>()
  for (const entry of entries) {
    if (entry.type !== 'frame' || UNDELIVERED.has(entry.delivered)) continue
    for (const payload of entry.payloads) {
      if (payload.kind !== 'sample') continue
      const asset = KEY.exec(payload.key)?.[1]
      if (asset === undefined || !RECORDED.has(asset)) continue
      const list = prices.get(payload.key) ?? []
      prices.set(payload.key, list)
      const isSpoiled = entry.delivered === 'malformed'
      list.push({ value: toUnits(payload.value), at: entry.at, isSpoiled })
    }
  }
  return prices
}

function toUnits(text: string): bigint {
  const [whole, part = ''] = text.split('.')
  return BigInt(`${whole}${part.padEnd(18, '0')}`)
}

function isInGap(gaps: readonly Gap[], at: number): boolean {
  return gaps.some(({ start, end = Infinity }) => start - TOLERANCE <= at && at <= end + TOLERANCE)
}
