import type { Gap } from '@priorbook/sdk/domain'
import type { ReceiptJson } from '@priorbook/sdk/wire'
import type { Notice } from '../route.ts'
import type { PagePart } from './page-rows.ts'

/**
 * A page as lines: rows and gaps in the order of the walk, then notices, and at the end of the walk the
 * receipt. `render` gives borrowed bytes, which are copied here.
 */
export function toLines(
  parts: readonly PagePart[],
  keys: readonly string[],
  gaps: readonly Gap[],
  more: {
    readonly isDown: boolean
    readonly render: (parts: readonly PagePart[]) => Uint8Array
    readonly toGapLine: (gap: Gap) => object
    readonly notices: readonly Notice[]
    readonly receipt: ReceiptJson | undefined
  },
): Uint8Array {
  const line = (type: string, value: object): Buffer =>
    Buffer.from(`${JSON.stringify({ type, ...value })}\n`)
  const pieces: Uint8Array[] = []
  let rest = parts
  // Oldest first here: a gap stands before the first row after it.
  for (const gap of more.isDown ? gaps.toReversed() : gaps) {
    const [before, after] = splitAt(rest, keys, gap)
    if (before.length > 0) pieces.push(more.render(before).slice())
    pieces.push(line('gap', more.toGapLine(gap)))
    rest = after
  }
  if (rest.length > 0) pieces.push(more.render(rest).slice())
  if (more.isDown) pieces.reverse()
  for (const notice of more.notices) pieces.push(line('notice', notice))
  if (more.receipt !== undefined) pieces.push(line('receipt', more.receipt))
  return Buffer.concat(pieces)
}

function splitAt(
  parts: readonly PagePart[],
  keys: readonly string[],
  gap: Gap,
): readonly [readonly PagePart[], readonly PagePart[]] {
  const lane = gap.scope === 'instrument' ? keys.indexOf(gap.key) : -1
  const before: PagePart[] = []
  for (const [index, part] of parts.entries()) {
    const place = placeOf(part, lane, gap)
    if (place === undefined) {
      before.push(part)
      continue
    }
    if ('row' in part) return [before, parts.slice(index)]
    if (place > part.from) before.push({ ...part, to: place })
    return [before, [{ ...part, from: Math.max(place, part.from) }, ...parts.slice(index + 1)]]
  }
  return [before, []]
}

// The first row of a part that comes after a gap.
function placeOf(part: PagePart, lane: number, gap: Gap): number | undefined {
  const [from, to] = 'row' in part ? [part.row, part.row + 1] : [part.from, part.to]
  const firstSequence = 'row' in part ? part.sequence - part.row : part.firstSequence
  for (let row = from; row < to; row++) {
    const isAfter =
      lane >= 0
        ? part.source === lane && firstSequence + row > gap.afterSequence
        : part.columns.received[row]! > gap.start
    if (isAfter) return row
  }
  return undefined
}
