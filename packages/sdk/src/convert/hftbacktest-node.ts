import { crc32 } from 'node:zlib'
import { PriorbookError } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'
import { symbolOf } from './instrument-name.ts'
import { frameNpz } from './npz-node.ts'
import type { OutFolder } from './out-folder-node.ts'
import type { LevelStep, Step, ToolFile, ToolWriter } from './step.ts'
import { toDouble } from './to-double.ts'

// The fields of `event_dtype` of hftbacktest 2 (hftbacktest/types.py), 8 bytes each.
const DESCR =
  "[('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), ('qty', '<f8'), " +
  "('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')]"
const ROW_BYTES = 64

const DEPTH = 1
const TRADE = 2
const DEPTH_CLEAR = 3
const DEPTH_SNAPSHOT = 4
// Both the exchange and the local side process the event.
const BOTH = 2 ** 31 + 2 ** 30
const BUY = 2 ** 29
const SELL = 2 ** 28

/** One `.npz` file of events per instrument, for hftbacktest. */
export function createHftbacktestWriter(folder: OutFolder): ToolWriter {
  const feeds = new Map<number, Feed>()
  return {
    take(step) {
      const { instrument } = step
      let feed = feeds.get(instrument.index)
      if (feed === undefined) feeds.set(instrument.index, (feed = new Feed(instrument)))
      feed.take(step)
    },
    async flush() {
      for (const feed of feeds.values()) {
        if (feed.waiting >= FLUSH_BYTES) await feed.flush(folder)
      }
    },
    async finish() {
      const files: ToolFile[] = []
      for (const feed of feeds.values()) {
        await feed.flush(folder)
        files.push(await feed.finish(folder))
      }
      return files
    },
  }
}

const FLUSH_BYTES = 1 << 18

/** The events of one instrument. */
class Feed {
  private readonly instrument: ReplayInstrument
  private readonly name: string
  private rows = 0
  private buffer = Buffer.alloc(FLUSH_BYTES)
  private exchange = 0
  /** Bytes that are not written yet. */
  waiting = 0

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
    this.name = `${instrument.venue}_${symbolOf(instrument)}`
  }

  take(step: Step): void {
    const { instrument } = this
    const source = step.kind === 'clear' ? undefined : step.source
    // Events are in one order on both sides: the exchange's time never runs back, and never ahead of the receipt.
    this.exchange = Math.min(step.at, Math.max(this.exchange, source ?? step.at))
    switch (step.kind) {
      case 'clear':
        this.clear(step.at)
        break
      case 'book':
        if (step.isWhole) this.clear(step.at)
        for (const change of step.changes) {
          this.level(step.isWhole ? DEPTH_SNAPSHOT : DEPTH, step.at, change)
        }
        break
      case 'trade': {
        const side = step.taker === undefined ? 0 : step.taker === 'buy' ? BUY : SELL
        const price = toDouble(step.price, instrument.priceDecimals)
        this.put(TRADE + side, step.at, price, toDouble(step.size, instrument.sizeDecimals))
        break
      }
    }
  }

  async flush(folder: OutFolder): Promise<void> {
    if (this.waiting === 0) return
    await folder.append(`${this.name}.rows`, this.buffer.subarray(0, this.waiting))
    this.waiting = 0
  }

  async finish(folder: OutFolder): Promise<ToolFile> {
    const { name, rows, instrument } = this
    const frame = frameNpz(DESCR, ROW_BYTES, rows)
    if (frame === undefined) {
      throw new PriorbookError('invalid_argument', `${rows} events are too many for one file`)
    }
    const path = `${name}.npz`
    await folder.append(path, frame.begin)
    let check = crc32(frame.npy)
    for await (const block of folder.read(`${name}.rows`)) {
      check = crc32(block, check)
      await folder.append(path, block)
    }
    await folder.append(path, frame.end(check))
    await folder.keep(path, path)
    return { path, rows, instrument }
  }

  private clear(at: number): void {
    this.put(DEPTH_CLEAR + BUY, at, 0, 0)
    // Every ask is below 1.
    this.put(DEPTH_CLEAR + SELL, at, 1, 0)
  }

  private level(kind: number, at: number, { side, price, size }: LevelStep): void {
    const { priceDecimals, sizeDecimals } = this.instrument
    const event = kind + (side === 'bid' ? BUY : SELL)
    this.put(event, at, toDouble(price, priceDecimals), toDouble(size, sizeDecimals))
  }

  private put(event: number, at: number, price: number, size: number): void {
    if (this.waiting + ROW_BYTES > this.buffer.length) {
      const grown = Buffer.alloc(this.buffer.length * 2)
      grown.set(this.buffer)
      this.buffer = grown
    }
    const { buffer, waiting: offset } = this
    buffer.writeBigUInt64LE(BigInt(BOTH + event), offset)
    // Microseconds become nanoseconds.
    buffer.writeBigInt64LE(BigInt(this.exchange) * 1000n, offset + 8)
    buffer.writeBigInt64LE(BigInt(at) * 1000n, offset + 16)
    buffer.writeDoubleLE(price, offset + 24)
    buffer.writeDoubleLE(size, offset + 32)
    buffer.fill(0, offset + 40, offset + ROW_BYTES)
    this.waiting += ROW_BYTES
    this.rows++
  }
}
