import type { BookLevel, OrderBook } from '../client/index.ts'
import { alignNumbers, fitParts, type CommandIo } from '../command-line/index.ts'

/** How a ladder is drawn. */
export type LadderStyle = {
  /** Rows of levels. */
  readonly depth: number
  readonly width: number
  readonly paint: CommandIo['paint']
}

const BARS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const
const BLOCK = '█'
const GUTTER = ' │ '

/**
 * Draws a book: bids on the left, asks on the right, the best on top, bars by size. Levels below
 * `depth` are counted in the last line.
 */
export function layLadder(book: OrderBook, { depth, width, paint }: LadderStyle): string[] {
  const bids = book.bids(depth)
  const asks = book.asks(depth)
  const all = [...bids, ...asks]
  const prices = alignNumbers(all.map(({ price }) => price))
  const sizesOf = (levels: readonly BookLevel[]): string[] =>
    alignNumbers(levels.map(({ size }) => groupDigits(size)))
  const sizes = [...sizesOf(bids), ...sizesOf(asks)]
  const priceWidth = Math.max(5, ...prices.map((text) => text.length))
  const sizeWidth = Math.max(4, ...sizes.map((text) => text.length))
  const texts = (at: number): [price: string, size: string] => [
    prices[at]!.padStart(priceWidth),
    sizes[at]!.padStart(sizeWidth),
  ]
  const half = Math.max(priceWidth + sizeWidth + 2, Math.floor((Math.min(width, 100) - 3) / 2))
  const barWidth = Math.min(24, half - priceWidth - sizeWidth - 2)
  const most = Math.max(0, ...all.map(({ size }) => Number(size)))
  const bar = ({ size }: BookLevel): string => drawBar(Number(size), most, barWidth)

  const head = [
    'size'.padStart(half - priceWidth - 1),
    ` ${'bid'.padStart(priceWidth)}${GUTTER}${'ask'.padStart(priceWidth)} `,
    'size'.padStart(sizeWidth),
  ]
  const lines = [paint('dim', head.join(''))]
  const rows = Math.min(depth, Math.max(bids.length, asks.length, 1))
  for (let index = 0; index < rows; index++) {
    const bid = bids[index]
    const ask = asks[index]
    let [left, right] = [' '.repeat(half), '']
    if (bid !== undefined) {
      const [price, size] = texts(index)
      const drawn = mirror(bar(bid)).padStart(half - sizeWidth - priceWidth - 2)
      left = `${paint('green', drawn)} ${size} ${paint(['green', 'bold'], price)}`
    }
    if (ask !== undefined) {
      const [price, size] = texts(bids.length + index)
      right = `${paint(['red', 'bold'], price)} ${size} ${paint('red', bar(ask))}`
    }
    lines.push(`${left}${paint('dim', GUTTER)}${right}`.trimEnd())
  }
  const below = [book.bidLevels - bids.length, book.askLevels - asks.length]
  if (below[0]! > 0 || below[1]! > 0) {
    const text = (count: number): string => (count > 0 ? `${count} more` : '')
    const line = `${text(below[0]!).padStart(half)}${GUTTER}${text(below[1]!)}`
    lines.push(paint('dim', line.trimEnd()))
  }
  return lines
}

/** One line about a book: best prices, spread, mid, resting sizes; what does not fit into the width is left out. */
export function bookLine(book: OrderBook, width = Infinity): string {
  const { bid, ask } = book.best
  const side = (level: BookLevel | undefined): string =>
    level === undefined ? 'none' : `${level.price} × ${groupDigits(level.size)}`
  const parts = [
    `bid ${side(bid)}`,
    `ask ${side(ask)}`,
    `mid ${book.mid ?? '–'}`,
    `spread ${book.spread ?? '–'}`,
    `levels ${book.bidLevels}/${book.askLevels}`,
  ]
  return fitParts(parts, width)
}

/** Digits in groups of three, exact: `1234567.5` is `1,234,567.5`. */
export function groupDigits(text: string): string {
  const [whole, rest] = text.split('.')
  const grouped = whole!.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return rest === undefined ? grouped : `${grouped}.${rest}`
}

function drawBar(size: number, most: number, width: number): string {
  if (most <= 0) return ''
  const eighths = Math.max(1, Math.round((size / most) * width * 8))
  return BLOCK.repeat(Math.floor(eighths / 8)) + BARS[eighths % 8]!
}

// Unicode has no blocks that grow from the right in eighths, so half blocks are used.
function mirror(bar: string): string {
  const full = bar.replaceAll(/[^█]/g, '')
  const rest = bar.slice(full.length)
  return `${rest === '' ? '' : BARS.indexOf(rest as '▏') >= 4 ? '▐' : full === '' ? '▕' : ''}${full}`
}
