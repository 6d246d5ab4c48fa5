import type { Gap } from '@priorbook/sdk/domain'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { Notice } from '../route.ts'
import type { BulkScope } from './scope.ts'
import { Tally, type FileReceipt } from './tally.ts'
import type { WalkItem } from './bulk-walk.ts'

// Bytes per write: large enough for the socket, small enough that other requests run in between.
const PIECE = 131_072

/**
 * The bytes of a download, produced as fast as the client reads. A piece is borrowed: it is valid until
 * the next one is requested. Each step yields to the event loop, so that small requests are not starved;
 * an abort ends the work at the next step.
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

/** Notified of gaps and receipt while a file is made; explains a file without rows. */
export type FileObserver = {
  explain?(): Promise<readonly Notice[]>
  onGap?(gap: Gap): void
  onReceipt?(receipt: FileReceipt): void
}

/**
 * Collects bytes until there are enough for one write. Returned pieces share one buffer and are valid until
 * the next step: a new buffer per piece would cost a fifth of a download in garbage collection.
 */
export class Pieces {
  private readonly bytes: Buffer
  private length: number

  constructor() {
    this.bytes = Buffer.allocUnsafe(2 * PIECE)
    this.length = 0
  }

  /** Copies bytes and yields the pieces that are full. */
  *add(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(bytes.length - at, this.bytes.length - this.length)
      this.bytes.set(bytes.subarray(at, at + count), this.length)
      this.length += count
      at += count
      if (this.length >= PIECE) yield* this.rest()
    }
  }

  /** Yields the bytes that are left. */
  *rest(): Generator<Uint8Array> {
    if (this.length === 0) return
    yield this.bytes.subarray(0, this.length)
    this.length = 0
  }
}

/**
 * Turns a walk into the bytes of one format. Yielded bytes are valid until the next step. Other requests
 * run between two steps, so a step should not take more than a few milliseconds.
 */
export interface BulkWriter {
  /** The bytes before the first row. */
  begin(): Iterable<Uint8Array>
  write(item: WalkItem): Iterable<Uint8Array>
  end(receipt: FileReceipt): Iterable<Uint8Array>
}

/** Yielded by a step that has no bytes yet, so that other requests can run. */
export const NOTHING: Uint8Array = new Uint8Array(0)
