import { createHash } from 'node:crypto'
import type { Gap } from '@priorbook/sdk/domain'
import { walk, type WalkItem } from '../api/bulk/bulk-walk.ts'
import { createParquetWriter } from '../api/bulk/file.ts'
import type { BulkScope } from '../api/bulk/scope.ts'
import type { BulkWriter } from '../api/bulk/stream.ts'
import { Tally, type FileReceipt } from '../api/bulk/tally.ts'
import type { ApiContext } from '../api/route.ts'
import { yieldToEventLoop } from '../lib/yielder.ts'
import { compareNames } from '../objects/object-name.ts'

/** One Parquet file in memory. */
export type DayPart = {
  readonly bytes: Uint8Array
  readonly hash: Buffer
  readonly receipt: FileReceipt
  /** The smallest and the largest id of the markets that rows belong to. */
  readonly markets: { readonly first: string; readonly last: string }
}

// A file is made in memory. A row group of 16 MB may follow.
const MAX_BYTES = 134_217_728

/**
 * The rows of a scope as Parquet files of about `maxRows` rows: the same rows give the same files. Gaps are handed over
 * as they come.
 */
export async function* makeParts(
  context: ApiContext,
  scope: BulkScope,
  maxRows: number,
  onGap: (gap: Gap) => void,
): AsyncGenerator<DayPart> {
  let part = new OpenPart(scope)
  for await (const item of walk(context, scope)) {
    if (item.kind === 'gap') onGap(item.gap)
    part.add(item)
    await yieldToEventLoop()
    const isFull = part.rows >= maxRows || part.length >= MAX_BYTES
    if (!isFull || part.rows === 0) continue
    yield part.finish()
    part = new OpenPart(scope)
  }
  if (part.rows > 0) yield part.finish()
}

class OpenPart {
  private readonly writer: BulkWriter
  private readonly tally: Tally
  private readonly pieces: Uint8Array[] = []
  private firstMarket: string | undefined
  private lastMarket = ''
  length = 0

  constructor(scope: BulkScope) {
    this.writer = createParquetWriter(scope)
    this.tally = new Tally(scope)
    this.keep(this.writer.begin())
  }

  get rows(): number {
    return this.tally.rows
  }

  add(item: WalkItem): void {
    this.tally.add(item)
    this.keep(this.writer.write(item))
    if (item.kind === 'book' || item.kind === 'trade' || item.kind === 'sample') {
      for (const { marketId } of item.contexts) this.stretch(marketId)
    }
  }

  finish(): DayPart {
    const receipt = this.tally.finish()
    this.keep(this.writer.end(receipt))
    const bytes = Buffer.concat(this.pieces)
    const hash = createHash('sha256').update(bytes).digest()
    return { bytes, hash, receipt, markets: { first: this.firstMarket!, last: this.lastMarket } }
  }

  private stretch(market: string): void {
    if (market === this.lastMarket) return
    if (this.firstMarket === undefined || compareNames(market, this.firstMarket) < 0) {
      this.firstMarket = market
    }
    if (compareNames(market, this.lastMarket) > 0) this.lastMarket = market
  }

  // Yielded bytes are valid until the next step.
  private keep(pieces: Iterable<Uint8Array>): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue
      this.pieces.push(Buffer.from(piece))
      this.length += piece.length
    }
  }
}
