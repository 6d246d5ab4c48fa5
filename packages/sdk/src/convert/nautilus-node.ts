import { POW10, printMicros, printScaled, VENUES } from '../domain/index.ts'
import type { MarketRecord, Micros } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'
import { FlatParquet, type FlatColumns, type FlatValue } from './flat-parquet-node.ts'
import { symbolOf } from './instrument-name.ts'
import type { OutFolder } from './out-folder-node.ts'
import type { LevelStep, Step, ToolFile, ToolWriter } from './step.ts'

// The schemas of the catalogue of nautilus_trader 1.2xx with 128-bit values, its build for Linux and macOS.
const DELTA: FlatColumns = {
  action: 'uint8',
  side: 'uint8',
  price: 'bytes16',
  size: 'bytes16',
  order_id: 'uint64',
  flags: 'uint8',
  sequence: 'uint64',
  ts_event: 'uint64',
  ts_init: 'uint64',
}
const TRADE: FlatColumns = {
  price: 'bytes16',
  size: 'bytes16',
  aggressor_side: 'uint8',
  trade_id: 'text',
  ts_event: 'uint64',
  ts_init: 'uint64',
}
const OPTION: FlatColumns = {
  id: 'text',
  raw_symbol: 'text',
  asset_class: 'text',
  currency: 'text',
  price_precision: 'uint8',
  size_precision: 'uint8',
  price_increment: 'text',
  size_increment: 'text',
  activation_ns: 'uint64',
  expiration_ns: 'uint64',
  maker_fee: 'text',
  taker_fee: 'text',
  max_quantity: 'null',
  min_quantity: 'null',
  outcome: 'text',
  description: 'text',
  info: 'binary',
  ts_event: 'uint64',
  ts_init: 'uint64',
}

const ACTION = { add: 1, update: 2, delete: 3, clear: 4 } as const
const SIDE = { none: 0, bid: 1, ask: 2 } as const
const AGGRESSOR = { none: 0, buy: 1, sell: 2 } as const
// The last change of a row, and a level of a whole book.
const LAST = 128
const SNAPSHOT = 32
// Raw values count in 10^−16.
const RAW_DECIMALS = 16
const GROUP_ROWS = 16_384
// Nautilus keeps at most 36 characters of a trade's id.
const TRADE_ID_MAX = 36

/** A catalogue of order book changes, trades and instruments, for nautilus_trader. */
export function createNautilusWriter(folder: OutFolder): ToolWriter {
  const feeds = new Map<number, Feed>()
  return {
    take(step) {
      const { instrument } = step
      let feed = feeds.get(instrument.index)
      if (feed === undefined) feeds.set(instrument.index, (feed = new Feed(instrument)))
      feed.take(step)
    },
    async flush() {
      for (const feed of feeds.values()) await feed.flush(folder, GROUP_ROWS)
    },
    async finish(markets) {
      const files: ToolFile[] = []
      for (const feed of feeds.values()) files.push(...(await feed.finish(folder, markets)))
      return files
    },
  }
}

/** One table of an instrument: its file, and the times of its first and last row. */
class Table {
  readonly file: FlatParquet
  readonly part: string
  /** The time of the first row. */
  first: Micros | undefined
  private last: Micros | undefined
  private readonly folder: string

  constructor(kind: string, id: string, columns: FlatColumns, metadata: Record<string, string>) {
    this.file = new FlatParquet(columns, metadata)
    this.folder = `data/${kind}/${id}`
    this.part = `${this.folder}/rows.parquet`
  }

  add(at: Micros, values: readonly FlatValue[]): void {
    this.first ??= at
    this.last = at
    this.file.add(values)
  }

  async flush(out: OutFolder, least: number): Promise<void> {
    if (this.file.waiting > least) await out.append(this.part, this.file.group())
  }

  async finish(out: OutFolder, instrument: ReplayInstrument): Promise<ToolFile[]> {
    if (this.first === undefined) return []
    await this.flush(out, 0)
    await out.append(this.part, this.file.end())
    const path = `${this.folder}/${fileTime(this.first)}_${fileTime(this.last!)}.parquet`
    await out.keep(this.part, path)
    return [{ path, rows: this.file.rows, instrument }]
  }
}

/** The tables of one instrument. */
class Feed {
  private readonly instrument: ReplayInstrument
  private readonly id: string
  private readonly deltas: Table
  private readonly trades: Table

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
    this.id = `${symbolOf(instrument)}.${instrument.venue.toUpperCase()}`
    const metadata = {
      instrument_id: this.id,
      price_precision: String(instrument.priceDecimals),
      size_precision: String(instrument.sizeDecimals),
    }
    this.deltas = new Table('order_book_delta', this.id, DELTA, metadata)
    this.trades = new Table('trade_tick', this.id, TRADE, metadata)
  }

  take(step: Step): void {
    switch (step.kind) {
      case 'clear':
        this.clear(step.at, LAST, 0, step.at)
        break
      case 'book': {
        const { at, source = at, sequence, isWhole, changes } = step
        const kind = isWhole ? SNAPSHOT : 0
        if (isWhole) this.clear(at, kind + (changes.length === 0 ? LAST : 0), sequence, source)
        for (const [index, change] of changes.entries()) {
          const flags = kind + (index === changes.length - 1 ? LAST : 0)
          this.level(at, change, flags, sequence, source)
        }
        break
      }
      case 'trade': {
        const { at, source = at, price, size, tradeId, taker = 'none' } = step
        const values = [this.price(price), this.size(size), AGGRESSOR[taker]]
        const id = tradeId.slice(-TRADE_ID_MAX)
        this.trades.add(at, [...values, id, nanos(source), nanos(at)])
        break
      }
    }
  }

  async flush(out: OutFolder, least: number): Promise<void> {
    await this.deltas.flush(out, least)
    await this.trades.flush(out, least)
  }

  async finish(out: OutFolder, markets: readonly MarketRecord[]): Promise<ToolFile[]> {
    const { instrument } = this
    const option = new Table('binary_option', this.id, OPTION, { class: 'BinaryOption' })
    const { venue, marketId } = instrument
    const record = markets.find((one) => one.venue === venue && one.marketId === marketId)
    // An instrument must be known before its first row.
    const times = [record?.openTime, this.deltas.first, this.trades.first]
    const time = Math.min(...times.filter((one) => one !== undefined)) as Micros
    option.add(time, this.option(record, time))
    return [
      ...(await option.finish(out, instrument)),
      ...(await this.deltas.finish(out, instrument)),
      ...(await this.trades.finish(out, instrument)),
    ]
  }

  private option(record: MarketRecord | undefined, time: Micros): readonly FlatValue[] {
    const { instrument, id } = this
    const { venue, key, priceDecimals, sizeDecimals, outcome = '', marketId } = instrument
    const info = { venue, market_id: marketId, instrument: key }
    return [
      id,
      symbolOf(instrument),
      'ALTERNATIVE',
      VENUES[venue].units.collateral,
      priceDecimals,
      sizeDecimals,
      oneUnit(priceDecimals),
      oneUnit(sizeDecimals),
      nanos(record?.openTime ?? time),
      nanos(record?.closeTime ?? time),
      '0',
      '0',
      null,
      null,
      outcome,
      record?.title ?? marketId,
      JSON.stringify(info),
      nanos(time),
      nanos(time),
    ]
  }

  private clear(at: Micros, flags: number, sequence: number, source: Micros): void {
    const row = [ACTION.clear, SIDE.none, ZERO, ZERO, 0, flags, sequence, nanos(source), nanos(at)]
    this.deltas.add(at, row)
  }

  private level(
    at: Micros,
    { side, price, size, isNew }: LevelStep,
    flags: number,
    sequence: number,
    source: Micros,
  ): void {
    const action = size === 0 ? ACTION.delete : isNew ? ACTION.add : ACTION.update
    const [px, qty] = [this.price(price), this.size(size)]
    const times = [nanos(source), nanos(at)]
    this.deltas.add(at, [action, SIDE[side], px, qty, 0, flags, sequence, ...times])
  }

  private price(ticks: number): Uint8Array {
    return raw(ticks, this.instrument.priceDecimals)
  }

  private size(units: number): Uint8Array {
    return raw(units, this.instrument.sizeDecimals)
  }
}

const ZERO = new Uint8Array(16)

// A whole number of 10^−16 in 16 bytes, lowest first: exact for every price and size.
function raw(units: number, decimals: number): Uint8Array {
  const value = BigInt(units) * BigInt(POW10[RAW_DECIMALS - decimals]!)
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(value & 0xffff_ffff_ffff_ffffn, 0)
  bytes.writeBigUInt64LE(value >> 64n, 8)
  return bytes
}

function nanos(time: number): bigint {
  return BigInt(time) * 1000n
}

function oneUnit(decimals: number): string {
  return printScaled(1, decimals)
}

// `2026-08-11T15-00-00-000000000Z`, as the catalogue names its files.
function fileTime(time: Micros): string {
  return printMicros(time).replaceAll(/[:.]/g, '-').replace('Z', '000Z')
}
