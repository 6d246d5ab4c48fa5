import { printScaled } from '../domain/index.ts'
import type { ReplayInstrument } from '../replay/index.ts'
import { symbolOf } from './instrument-name.ts'
import type { OutFolder } from './out-folder-node.ts'
import type { Step, ToolFile, ToolWriter } from './step.ts'

// The columns of Tardis: https://docs.tardis.dev/downloadable-csv-files
const HEAD = 'exchange,symbol,timestamp,local_timestamp'
const SNAPSHOT_LEVELS = 25
const COLUMNS = {
  incremental_book_L2: `${HEAD},is_snapshot,side,price,amount`,
  trades: `${HEAD},id,side,price,amount`,
  book_snapshot_25: [
    HEAD,
    ...Array.from({ length: SNAPSHOT_LEVELS }, (_, level) =>
      ['asks', 'bids'].flatMap((side) => [`${side}[${level}].price`, `${side}[${level}].amount`]),
    ).flat(),
  ].join(','),
} as const

type Dataset = keyof typeof COLUMNS

/** Three CSV files per instrument, with the names and columns of Tardis. */
export function createTardisWriter(folder: OutFolder): ToolWriter {
  const tables = new Map<number, Tables>()
  return {
    take(step) {
      const { instrument } = step
      let own = tables.get(instrument.index)
      if (own === undefined) tables.set(instrument.index, (own = new Tables(instrument)))
      own.take(step)
    },
    async flush() {
      for (const own of tables.values()) await own.flush(folder, FLUSH_LENGTH)
    },
    async finish() {
      const files: ToolFile[] = []
      for (const own of tables.values()) {
        await own.flush(folder, 0)
        files.push(...(await own.finish(folder)))
      }
      return files
    },
  }
}

const FLUSH_LENGTH = 1 << 18

/** The files of one instrument. */
class Tables {
  private readonly instrument: ReplayInstrument
  private readonly texts: Record<Dataset, string>
  private readonly rows: Record<Dataset, number> = {
    incremental_book_L2: 0,
    trades: 0,
    book_snapshot_25: 0,
  }
  /** Sizes by price. */
  private readonly sides = { ask: new Map<number, number>(), bid: new Map<number, number>() }
  private last = ''

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
    this.texts = {
      incremental_book_L2: `${COLUMNS.incremental_book_L2}\n`,
      trades: `${COLUMNS.trades}\n`,
      book_snapshot_25: `${COLUMNS.book_snapshot_25}\n`,
    }
  }

  take(step: Step): void {
    const { instrument } = this
    const head = headOf(instrument, step)
    if (step.kind === 'trade') {
      const { tradeId, taker = 'unknown' } = step
      this.add('trades', `${head},${tradeId},${taker},${this.amounts(step.price, step.size)}`)
      return
    }
    const levels = step.kind === 'clear' ? step.levels : step.changes
    const isSnapshot = step.kind === 'book' && step.isWhole
    for (const { side, price, size } of levels) {
      const row = `${head},${isSnapshot},${side},${this.amounts(price, size)}`
      this.add('incremental_book_L2', row)
      if (size === 0) this.sides[side].delete(price)
      else this.sides[side].set(price, size)
    }
    const best = this.best()
    // A row per change of what it shows; an unknown book has no level at all.
    if (best === this.last) return
    this.last = best
    this.add('book_snapshot_25', `${head},${best}`)
  }

  async flush(folder: OutFolder, least: number): Promise<void> {
    for (const name of Object.keys(COLUMNS) as Dataset[]) {
      if (this.texts[name].length <= least) continue
      await folder.append(this.pathOf(name), Buffer.from(this.texts[name]))
      this.texts[name] = ''
    }
  }

  async finish(folder: OutFolder): Promise<ToolFile[]> {
    const files: ToolFile[] = []
    for (const name of Object.keys(COLUMNS) as Dataset[]) {
      const path = this.pathOf(name)
      await folder.keep(path, path)
      files.push({ path, rows: this.rows[name], instrument: this.instrument })
    }
    return files
  }

  private add(name: Dataset, row: string): void {
    this.texts[name] += `${row}\n`
    this.rows[name]++
  }

  private pathOf(name: Dataset): string {
    const { venue } = this.instrument
    return `${venue}_${name}_${symbolOf(this.instrument)}.csv`
  }

  private amounts(price: number, size: number): string {
    const { priceDecimals, sizeDecimals } = this.instrument
    return `${printScaled(price, priceDecimals)},${printScaled(size, sizeDecimals)}`
  }

  private best(): string {
    const asks = [...this.sides.ask.keys()].sort((a, b) => a - b)
    const bids = [...this.sides.bid.keys()].sort((a, b) => b - a)
    const cells: string[] = []
    for (let level = 0; level < SNAPSHOT_LEVELS; level++) {
      const ask = asks[level]
      const bid = bids[level]
      cells.push(ask === undefined ? ',' : this.amounts(ask, this.sides.ask.get(ask)!))
      cells.push(bid === undefined ? ',' : this.amounts(bid, this.sides.bid.get(bid)!))
    }
    return cells.join(',')
  }
}

// Times are microseconds; without a time of the venue the receipt stands for it, as Tardis does.
function headOf(instrument: ReplayInstrument, step: Step): string {
  const source = step.kind === 'clear' ? undefined : step.source
  return `${instrument.venue},${symbolOf(instrument)},${source ?? step.at},${step.at}`
}
