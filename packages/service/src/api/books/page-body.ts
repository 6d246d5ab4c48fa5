import type { Gap } from '@priorbook/sdk/domain'
import type { ReceiptJson } from '@priorbook/sdk/wire'
import { GapQueue } from '../../rows/index.ts'
import type { Notice } from '../route.ts'
import type { PagePart } from './page-rows.ts'

/**
 * A page as lines: rows and gaps in the order of the walk, then notices, and at the end of the walk the
 * receipt. `render` returns borrowed bytes, which are copied here.
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
  let open: PagePart[] = []
  const flush = (): void => {
    if (open.length > 0) pieces.push(more.render(open).slice())
    open = []
  }
  const add = (item: PagePart | Gap): void => {
    if (!('scope' in item)) open.push(item)
    else {
      flush()
      pieces.push(line('gap', more.toGapLine(item)))
    }
  }
  const queue = new GapQueue(gaps)
  for (const part of parts) {
    const key = keys[part.source]!
    if ('row' in part) {
      const received = part.columns.received[part.row]!
      while (queue.isBefore(received, key, part.sequence)) add(queue.shift()!)
      add(part)
    } else for (const item of queue.cut(part, key)) add(item)
  }
  flush()
  for (let gap = queue.shift(); gap !== undefined; gap = queue.shift()) add(gap)
  if (more.isDown) pieces.reverse()
  for (const notice of more.notices) pieces.push(line('notice', notice))
  if (more.receipt !== undefined) pieces.push(line('receipt', more.receipt))
  return Buffer.concat(pieces)
}
