import type { Gap } from '@priorbook/sdk/domain'
import { distinctGaps, gapKeysOf, gapsOfKeys, storeGaps } from '../../rows/index.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'

/** The gaps of a book, its market and its venue that may touch a range, each once. */
export async function gapsOfBook(
  { store }: ApiContext,
  instrument: MarketInstrument,
  range: { readonly start: number; readonly end: number },
): Promise<readonly Gap[]> {
  const { venue } = instrument
  const found = await gapsOfKeys(storeGaps(store, venue), gapKeysOf([instrument]), range)
  return distinctGaps(found).sort((a, b) => a.start - b.start)
}

/** The gap that a time lies in: at its start the last good book is still known, at its end the next one is. */
export function gapAt(gaps: readonly Gap[], time: number): Gap | undefined {
  return gaps.find(({ start, end = Infinity }) => start < time && time < end)
}

/** A span in which a book is not known. */
export type DarkSpan = { readonly start: number; readonly end: number }

/** The spans of gaps, joined where they touch, in order. */
export function darkSpans(
  gaps: readonly { readonly start: number; readonly end?: number }[],
): DarkSpan[] {
  const spans: DarkSpan[] = []
  for (const { start, end = Infinity } of gaps.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1)
    if (last !== undefined && start <= last.end) {
      spans[spans.length - 1] = { start: last.start, end: Math.max(last.end, end) }
    } else if (end > start) spans.push({ start, end })
  }
  return spans
}
