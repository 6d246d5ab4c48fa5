import { prices, showClock, showExact, showPrice, showTicks, zoneName } from '../app/show.ts'
import { quoteOf, type Book, type Levels } from '../model/book.ts'
import { groupDigits, padDecimal, placesIn, printTicks } from '../model/decimal.ts'
import { printSpan } from '../model/time.ts'

/** Writes books into the elements of one ladder. */
export type LadderWriter = {
  write(book: Book): void
  /** Writes the line below, with the age of the book. */
  writeFoot(book: Book, clock: number): void
  /** Removes what it has written outside of its elements. */
  clear(): void
}

/** The height of a level in pixels, as in the style sheet. */
export const LADDER_ROW = 19

/** Creates the writer of a ladder; it only touches texts and bars that have changed. */
export function createLadderWriter(host: HTMLElement, most: number): LadderWriter {
  const find = (selector: string): HTMLElement => host.querySelector<HTMLElement>(selector)!
  const ladder = host.closest<HTMLElement>('.ladder') ?? host
  const asks = createSide(find('.asks'), 'ask')
  const bids = createSide(find('.bids'), 'bid')
  const moreAsks = createText(find('.more-asks'))
  const moreBids = createText(find('.more-bids'))
  const mid = createText(find('.spread-row > :first-child'))
  const spread = createText(find('.spread-row > :last-child'))
  const foot = find('.ladder-foot')
  const [which, numbers] = [new Text(), new Text()]
  foot.replaceChildren(which, document.createElement('br'), numbers)
  return {
    write(book) {
      const shown = {
        asks: cut(book.asks, most),
        bids: cut(book.bids, most),
      }
      const style = styleOf(book, [shown.asks, shown.bids])
      asks.write(shown.asks, style)
      bids.write(shown.bids, style)
      const askRest = book.asks.ticks.length - shown.asks.ticks.length
      const bidRest = book.bids.ticks.length - shown.bids.ticks.length
      moreAsks(askRest > 0 ? `${askRest} more asks above` : '')
      moreBids(bidRest > 0 ? `${bidRest} more bids below` : '')
      const quote = quoteOf(book)
      mid(plainPrice(quote.mid))
      spread(quote.spread === undefined ? '–' : `spread ${plainPrice(quote.spread)}`)
      ladder.dataset['sequence'] = String(book.sequence)
      ladder.dataset['received'] = String(book.received)
    },
    writeFoot({ sequence, received, asks: { ticks: a }, bids: { ticks: b } }, clock) {
      const age = printSpan(Math.max(0, clock - received))
      which.data = `#${sequence} · ${showClock(received)}`
      numbers.data = `${countOf(a.length, 'ask')} · ${countOf(b.length, 'bid')} · ${age} old`
      foot.title = `received ${showExact(received)} ${zoneName(received)}`
    },
    clear() {
      delete ladder.dataset['sequence']
      delete ladder.dataset['received']
    },
  }
}

function cut({ ticks, units }: Levels, most: number): Levels {
  if (ticks.length <= most) return { ticks, units }
  return { ticks: ticks.subarray(0, most), units: units.subarray(0, most) }
}

// All levels of a ladder have the same decimals, and bars relative to the largest one.
type LevelStyle = {
  readonly decimals: number
  readonly sizeDecimals: number
  readonly places: number
  readonly sizePlaces: number
  readonly largest: number
  readonly unit: string
}

function styleOf({ decimals, sizeDecimals }: Book, sides: readonly Levels[]): LevelStyle {
  let [places, sizePlaces, largest] = [2, 0, 0]
  for (const { ticks, units } of sides) {
    for (const tick of ticks) places = Math.max(places, placesIn(tick, decimals))
    for (const size of units) {
      sizePlaces = Math.max(sizePlaces, placesIn(size, sizeDecimals))
      largest = Math.max(largest, size)
    }
  }
  return { decimals, sizeDecimals, places, sizePlaces, largest, unit: prices.value }
}

type Row = {
  readonly element: HTMLLIElement
  readonly price: Text
  readonly size: Text
  tick: number
  units: number
  bar: number
}

// Rows are ordered by distance from the best price, so a change of the book moves no element.
function createSide(list: HTMLElement, side: 'ask' | 'bid') {
  list.replaceChildren()
  const rows: Row[] = []
  const none = document.createElement('li')
  none.className = 'no-level'
  none.textContent = `no ${side}s`
  let written: LevelStyle | undefined
  return {
    write({ ticks, units }: Levels, style: LevelStyle): void {
      const isSame =
        written?.places === style.places &&
        written.sizePlaces === style.sizePlaces &&
        written.decimals === style.decimals &&
        written.unit === style.unit
      written = style
      if (rows.length !== ticks.length || ticks.length === 0) {
        list.style.height = `${Math.max(1, ticks.length) * LADDER_ROW}px`
        if (ticks.length === 0) list.append(none)
        else none.remove()
      }
      while (rows.length > ticks.length) rows.pop()!.element.remove()
      while (rows.length < ticks.length) {
        const row = createRow()
        rows.push(row)
        // Asks are listed upwards from the best one, bids downwards.
        if (side === 'ask') list.prepend(row.element)
        else list.append(row.element)
      }
      for (const [index, row] of rows.entries()) {
        const tick = ticks[index]!
        const size = units[index]!
        if (row.tick !== tick || !isSame) {
          row.tick = tick
          row.price.data = showTicks(tick, style.decimals, style.places)
        }
        if (row.units !== size || !isSame) {
          row.units = size
          const text = printTicks(size, style.sizeDecimals)
          row.size.data = groupDigits(padDecimal(text, style.sizePlaces))
        }
        // The bar is a background, because an element of its own costs more to paint than all texts.
        const bar = Math.round((size / style.largest) * BAR_STEPS)
        if (row.bar === bar) continue
        row.bar = bar
        row.element.style.backgroundSize = `${(bar / BAR_STEPS) * 100}% 17px`
      }
    },
  }
}

// Rounded to the pixels of a ladder.
const BAR_STEPS = 200

function createRow(): Row {
  const element = document.createElement('li')
  const cell = (name: string): Text => {
    const span = document.createElement('span')
    span.className = name
    const text = new Text()
    span.append(text)
    element.append(span)
    return text
  }
  return { element, price: cell('price'), size: cell('size'), tick: -1, units: -1, bar: -1 }
}

function createText(element: HTMLElement): (text: string) => void {
  const node = new Text()
  element.replaceChildren(node)
  return (text) => {
    if (node.data !== text) node.data = text
  }
}

// With the digits of the book: half a tick has one more.
function plainPrice(text: string | undefined): string {
  return prices.value === 'cents' ? showPrice(text) : (text ?? '–')
}

function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
