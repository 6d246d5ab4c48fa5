import type { Gap } from '@priorbook/sdk/domain'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { Notice } from '../route.ts'
import type { BulkScope } from './scope.ts'
import { Tally, type FileReceipt } from './tally.ts'
import type { WalkItem } from './walk.ts'

// What is sent at once: large enough for the socket, small enough to let others in between.
const PIECE = 131_072

/**
 * The bytes of a download, made as fast as they are taken; a piece is borrowed until the next one is
 * asked for. After every step the event loop turns once,
 * so that small requests are not starved; an abort ends the work at the next step.
 */
export async function* streamFile(
  items: AsyncIterable<WalkItem>,
  scope: BulkScope,
  writer: BulkWriter,
  signal: AbortSignal,
  observer: FileObserver = {},
): AsyncGenerator<Uint8Array> {
  const tally = new Tally(scope)
  const pieces = new Pieces()
  for (const bytes of writer.begin()) yield* pieces.add(bytes)
  for await (const item of items) {
    tally.add(item)
    if (item.kind === 'gap') observer.onGap?.(item.gap)
    for (const bytes of writer.write(item)) {
      yield* pieces.add(bytes)
      await yieldToEventLoop()
      if (signal.aborted) return
    }
  }
  const receipt = tally.finish(tally.rows === 0 ? await observer.explain?.() : [])
  for (const bytes of writer.end(receipt)) {
    yield* pieces.add(bytes)
    await yieldToEventLoop()
    if (signal.aborted) return
  }
  yield* pieces.rest()
  observer.onReceipt?.(receipt)
}

/** Told what a file holds while it is made, and asked why it holds nothing. */
export type FileObserver = {
  explain?(): Promise<readonly Notice[]>
  onGap?(gap: Gap): void
  onReceipt?(receipt: FileReceipt): void
}

/**
 * Copies bytes together until there is enough to send. What it gives is borrowed until the next step:
 * a new buffer for every piece would cost a fifth of a download in garbage collection.
 */
export class Pieces {
  private readonly bytes: Buffer
  private length: number

  constructor() {
    this.bytes = Buffer.allocUnsafe(2 * PIECE)
    this.length = 0
  }

  /** Takes bytes over and gives what is to be sent now. */
  *add(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(bytes.length - at, this.bytes.length - this.length)
      this.bytes.set(bytes.subarray(at, at + count), this.length)
      this.length += count
      at += count
      if (this.length >= PIECE) yield* this.rest()
    }
  }

  /** What is left. */
  *rest(): Generator<Uint8Array> {
    if (this.length === 0) return
    yield this.bytes.subarray(0, this.length)
    this.length = 0
  }
}

/**
 * Turns a walk into the bytes of one format. What it yields is borrowed until the next step; between
 * two steps others may run, so a step should not take more than a few milliseconds.
 */
export interface BulkWriter {
  /** What stands before the first row. */
  begin(): Iterable<Uint8Array>
  write(item: WalkItem): Iterable<Uint8Array>
  end(receipt: FileReceipt): Iterable<Uint8Array>
}

/** The bytes of a step that has none to give yet. */
export const NOTHING: Uint8Array = new Uint8Array(0)
