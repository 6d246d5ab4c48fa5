import { FLAGS, POW10, VENUES } from '../domain/index.ts'
import {
  ABSENT,
  applyRow,
  applyRows,
  isFineTick,
  Ladder,
  loadBase,
  type BookColumns,
  type BucketFacts,
} from '../tape/index.ts'
import { CSV_DIALECT, JSON_DIALECT, NDJSON_DIALECT, TRUNCATED, type Dialect } from './dialect.ts'
import { HeadText } from './head-text.ts'
import { LadderText } from './ladder-text.ts'
import { PageBuffer, type BookContext, type BookPageOptions, type BookPart } from './page.ts'
import { KeptPrices, TimeText, WrittenPrices, type PriceTokens } from './value-text.ts'

// A splice costs about as much as writing four levels: 0.28 µs, measured with 1 to 12 changes per row in
// books of 24 and 90 levels. With more changes than that the changed sides are written again.
const LEVELS_PER_SPLICE = 4

const NOTHING = new Uint8Array(0)

/**
 * Renders pages of observations: at the end of a page that has no rows yet, or without one into the
 * renderer's own. All three give a view of what they wrote; that of the renderer's own page is borrowed,
 * valid until the next call. Parts are pulled one by one, and the columns of a part are not touched once
 * the next one has been pulled.
 */
export interface BookRenderer {
  /** JSON objects joined by commas; the envelope is the caller's. */
  renderJsonRows: Render
  /** One JSON object per line, each with `"type":"book"` first. */
  renderNdjson: Render
  /** A header line and one line per row; see `CSV_COLUMNS`. */
  renderCsv: Render
}

type Render = (
  parts: Iterable<BookPart>,
  context: Contexts,
  options: BookPageOptions,
  page?: PageBuffer,
) => Uint8Array

/** The context of a page, or one for each lane of its parts. */
export type Contexts = BookContext | readonly BookContext[]

/** Builds a renderer with its own scratch space; one per thread is enough. */
export function createBookRenderer(): BookRenderer {
  const own = new PageBuffer()
  const times = new TimeText()
  const tokens = createTokenCache()
  const lanes: Lane[] = []

  return {
    renderJsonRows: (...asked) => render(JSON_DIALECT, ...asked),
    renderNdjson: (...asked) => render(NDJSON_DIALECT, ...asked),
    renderCsv: (...asked) => render(CSV_DIALECT, ...asked),
  }

  function render(
    dialect: Dialect,
    parts: Iterable<BookPart>,
    context: Contexts,
    options: BookPageOptions,
    into?: PageBuffer,
  ): Uint8Array {
    if (into === undefined) own.clear()
    const page = into ?? own
    const begin = page.end
    times.use(options.timeFormat ?? 'iso', dialect.isTimeQuoted)
    const contexts = 'venue' in context ? [context] : context
    for (const [index, each] of contexts.entries()) {
      lanes[index] ??= new Lane(times, tokens)
      lanes[index].start(page, dialect, each, options)
    }
    if (options.header !== false) page.append(dialect.header)
    for (const part of parts) {
      const lane = lanes[part.lane ?? 0]!
      if ('row' in part) {
        lane.seek(part.columns, part.sequence - part.row, part.row)
        lane.render(part.row, part.bucket)
      } else if (part.from < part.to) {
        lane.seek(part.columns, part.firstSequence, part.from)
        for (let row = part.from; row < part.to; row++) lane.render(row, undefined)
      }
    }
    if (options.order === 'desc') page.reverse()
    if (dialect.isJoined && page.rows > 0) page.end--
    return page.bytes.subarray(begin, page.end)
  }
}

/** The rows of one instrument within a page: its running ladder and the text of its last row. */
class Lane {
  private readonly times: TimeText
  private readonly tokens: TokenCache
  private readonly head = new HeadText()
  private readonly text = new LadderText()
  /** By decimals: the ladder of a chunk in cents is not that of a chunk in 0.0001 ticks. */
  private readonly books: { ladder: Ladder; sizeLength: Uint8Array }[] = []

  private page!: PageBuffer
  private dialect!: Dialect
  private hasLadders = false
  private isQuoted = false
  /** More levels than this are cut and flagged; Infinity where the caller asked for fewer. */
  private cutAt = Infinity
  private ending!: Uint8Array

  private columns: BookColumns | undefined
  private firstSequence = 0
  /** The next row that the ladder has not seen. */
  private next = 0
  private ladder!: Ladder
  private rowTokens!: PriceTokens
  /** Whether a side differs from its text in the last row. */
  private hasNewBids = true
  private hasNewAsks = true

  /** The last row of this lane in the page; length 0 before the first. */
  private at = 0
  private length = 0

  constructor(times: TimeText, tokens: TokenCache) {
    this.times = times
    this.tokens = tokens
  }

  start(page: PageBuffer, dialect: Dialect, context: BookContext, options: BookPageOptions): void {
    this.page = page
    const depth = options.depth ?? Infinity
    const { hasYesNoLadders: hasNative, levelsMax = Infinity } = VENUES[context.venue]
    const limit = Math.min(depth, options.allLevels === true ? Infinity : levelsMax)
    this.dialect = dialect
    this.hasLadders = options.ladders
    this.isQuoted = options.numberFormat === 'string'
    this.cutAt = options.ladders && limit < depth ? limit : Infinity
    this.ending = options.ladders ? NOTHING : dialect.endWithoutLadders
    this.head.start(dialect, context, this.times, this.isQuoted)
    const { sizeDecimals } = VENUES[context.venue]
    this.text.start(dialect, hasNative, limit, sizeDecimals, this.isQuoted)
    this.columns = undefined
    this.length = 0
  }

  /** Advances the ladder to the book before a row. */
  seek(columns: BookColumns, firstSequence: number, row: number): void {
    const isSame = columns === this.columns && firstSequence === this.firstSequence
    if (!isSame || row < this.next) {
      this.columns = columns
      this.firstSequence = firstSequence
      this.next = 0
      this.useDecimals(columns.priceDecimals)
      loadBase(this.ladder, columns)
      this.hasNewBids = true
      this.hasNewAsks = true
    }
    if (this.next === row) return
    applyRows(this.ladder, columns, this.next, row)
    this.next = row
    this.hasNewBids = true
    this.hasNewAsks = true
  }

  /** Applies the next row and renders it at the end of the page. */
  render(row: number, bucket: BucketFacts | undefined): void {
    const columns = this.columns!
    const length = this.hasLadders ? this.renderLadders(columns, row) : this.copyRow(columns, row)
    const { page, ladder } = this
    const isCut = ladder.bidLevels > this.cutAt || ladder.askLevels > this.cutAt
    const end = this.head.update(
      page,
      page.end,
      page.end + length,
      columns,
      row,
      this.firstSequence + row,
      ladder,
      this.rowTokens,
      isCut ? TRUNCATED : 0,
      bucket,
    )
    this.next = row + 1
    this.at = page.end
    this.length = end - page.end
    page.closeRow(this.length)
  }

  /** Leaves at the end of the page the last row's text; without one, what follows its head. */
  private copyRow(columns: BookColumns, row: number): number {
    applyRow(this.ladder, columns, row)
    const { page, length } = this
    page.reserve(length + this.head.room + this.ending.length + 1)
    if (length === 0) return this.close(page.end)
    page.bytes.copyWithin(page.end, this.at, this.at + length)
    return length
  }

  /** Leaves at the end of the page the last row's head, if any, and the ladders of this row. */
  private renderLadders(columns: BookColumns, row: number): number {
    const { page, text, ladder } = this
    const start = columns.changeStart(row)
    const end = columns.changeEnd[row]!
    const isRestart = (columns.flags[row]! & FLAGS.restart) !== 0
    // Splicing needs the lengths of shown texts, which are not kept of very fine ticks.
    const isSpliced = !ladder.isFine && (end - start - 1) * LEVELS_PER_SPLICE <= text.levels
    if (this.hasNewBids || this.hasNewAsks || isRestart || !isSpliced) {
      this.markSides(columns, start, end, isRestart)
      applyRow(ladder, columns, row)
      return this.rewrite()
    }
    page.reserve(this.length + (end - start) * text.changeRoom + this.head.room)
    const head = this.head.length
    let length = this.length
    text.begin()
    for (let index = start; index < end; index++) {
      const key = columns.key[index]!
      length = text.change(page, this.at, page.end, head, length, key, columns.size[index]!)
    }
    if (!text.isPlaced) page.bytes.copyWithin(page.end, this.at, this.at + length)
    return length
  }

  private markSides(columns: BookColumns, start: number, end: number, isRestart: boolean): void {
    if (isRestart) this.hasNewBids = this.hasNewAsks = true
    for (let index = start; index < end; index++) {
      if ((columns.key[index]! & 1) === 0) this.hasNewBids = true
      else this.hasNewAsks = true
    }
  }

  /** Copies the last head and writes the ladders, of which an unchanged side is copied as well. */
  private rewrite(): number {
    const { page, text } = this
    const head = this.head.length
    page.reserve(head + text.room + this.head.room)
    const to = page.end
    if (head > 0) page.bytes.copyWithin(to, this.at, this.at + head)
    const from = this.length === 0 ? ABSENT : this.at + head
    const end = text.write(page, to + head, from, this.hasNewBids, this.hasNewAsks)
    this.hasNewBids = false
    this.hasNewAsks = false
    return this.close(end)
  }

  /** Ends a row after its ladders and returns the bytes from the end of the page. */
  private close(at: number): number {
    const { page, ending } = this
    page.bytes.set(ending, at)
    page.bytes[at + ending.length] = this.dialect.separator
    return at + ending.length + 1 - page.end
  }

  private useDecimals(decimals: number): void {
    const book = (this.books[decimals] ??= createBook(decimals))
    this.ladder = book.ladder
    this.rowTokens = this.tokens(decimals, this.isQuoted ? this.dialect.quotes : 0)
    const listTokens = this.tokens(decimals, this.isQuoted ? this.dialect.listQuotes : 0)
    this.text.show(book.ladder, listTokens, book.sizeLength)
  }
}

function createBook(decimals: number): { ladder: Ladder; sizeLength: Uint8Array } {
  const sizeLength = new Uint8Array(isFineTick(decimals) ? 0 : 2 * POW10[decimals]! + 2)
  return { ladder: new Ladder(decimals), sizeLength }
}

type TokenCache = (decimals: number, quotes: number) => PriceTokens

function createTokenCache(): TokenCache {
  const made: PriceTokens[] = []
  return (decimals, quotes) =>
    (made[decimals * 3 + quotes] ??= isFineTick(decimals)
      ? new WrittenPrices(decimals, quotes)
      : new KeptPrices(decimals, quotes))
}
