/** A row of a panel as text cells; null where it is empty. */
export type Cells = Readonly<Record<string, string | number | null>>

/** A line of a download. */
export type Line = Readonly<Record<string, never>> & { readonly type: string }

/** A market of `/v3/markets`, with decimals as text and times as microseconds. */
export type Listed = {
  readonly venue: string
  readonly market_id: string
  readonly asset: string
  readonly window: string
  readonly open_time: number
  readonly close_time: number | null
  readonly strike: string | null
  readonly event: { readonly id: string } | null
  readonly outcomes: readonly { readonly label: string; readonly index: number }[]
  readonly winning_outcome: string | null
  readonly resolution: {
    readonly state: string | null
    readonly payouts: readonly string[]
    readonly reference: { readonly end_price: string | null }
  }
}

type Book = {
  readonly id: string
  readonly outcome: string
  readonly received_time: number
  readonly bids: Side
  readonly asks: Side
}
type Side = { readonly price: readonly string[]; readonly size: readonly string[] }
type Price = { readonly received_time: number; readonly price: string }
type Span = {
  readonly start_time: number
  readonly end_time: number | null
  readonly reason: string
  readonly key: string
}

/** What a row must be: its cells, and the reasons of all gaps at the instant, for book and feed. */
export type Expected = {
  readonly cells: Cells
  readonly gaps: readonly string[]
  readonly referenceGaps: readonly string[]
}

/**
 * What a panel must say of a market at an instant, from the lines of its download and of its feed. It shares no
 * code with the service: it reads the last line at or before the instant and looks whether a gap line spans it.
 */
export function expectPanel(
  market: Listed,
  offset: number,
  books: readonly Line[],
  feed: { readonly name: string; readonly lines: readonly Line[] } | undefined,
): Expected {
  const at = market.close_time! + offset * 1_000_000
  const first = market.outcomes.find(({ index }) => index === 0)!.label
  const own = books.filter(({ type }) => type === 'book') as unknown as readonly Book[]
  const book = own.findLast((one) => one.outcome === first && one.received_time <= at)
  const keys = new Set(
    own.filter(({ outcome }) => outcome === first).map(({ id }) => id.split(':')[1]),
  )
  const isOwn = ({ key }: Span): boolean => keys.has(key) || key === market.market_id || key === ''
  const gaps = spansAt(books, at, book !== undefined).filter(isOwn)
  const early = at < market.open_time ? 'market_not_open' : 'before_capture'
  const reasons = gaps.map(({ reason }) => reason)
  const shown = gaps.length === 0 ? book : undefined
  return {
    gaps: shown === undefined && reasons.length === 0 ? [early] : reasons,
    ...referenceOf(feed, at),
    cells: {
      venue: market.venue,
      market_id: market.market_id,
      event_id: market.event?.id ?? null,
      asset: market.asset,
      window: market.window,
      open_time: market.open_time,
      close_time: market.close_time,
      strike: market.strike,
      offset_s: offset,
      at,
      outcome: first,
      ...bookCells(shown, at),
      ...referenceCells(feed, at),
      resolution_state: market.resolution.state,
      winning_outcome: market.winning_outcome,
      settlement_value: market.resolution.state === 'final' ? paid(market) : null,
      end_price: market.resolution.reference.end_price,
    },
  }
}

function paid({ outcomes, resolution }: Listed): string | null {
  return resolution.payouts[outcomes.findIndex(({ index }) => index === 0)] ?? null
}

// At the start of a gap its last good row is still known; without a row nothing is.
function spansAt(lines: readonly Line[], at: number, isSeen: boolean): readonly Span[] {
  const spans = lines.filter(({ type }) => type === 'gap') as unknown as readonly Span[]
  return spans.filter(
    ({ start_time: start, end_time: end }) =>
      (isSeen ? start < at : start <= at) && (end === null || at < end),
  )
}

function bookCells(book: Book | undefined, at: number): Cells {
  const bid = bestOf(book?.bids, -1)
  const ask = bestOf(book?.asks, 1)
  return {
    best_bid: bid?.price ?? null,
    bid_size: bid?.size ?? null,
    best_ask: ask?.price ?? null,
    ask_size: ask?.size ?? null,
    mid: bid === undefined || ask === undefined ? null : middle(bid.price, ask.price),
    book_id: book?.id ?? null,
    book_time: book?.received_time ?? null,
    age_ms: book === undefined ? null : (at - book.received_time) / 1000,
  }
}

// By comparing all levels, not by their order.
function bestOf(
  side: Side | undefined,
  sign: 1 | -1,
): { readonly price: string; readonly size: string } | undefined {
  if (side === undefined || side.price.length === 0) return undefined
  const [place] = side.price
    .map((price, index) => [index, scaled(price)] as const)
    .reduce((best, one) => (one[1] * BigInt(sign) < best[1] * BigInt(sign) ? one : best))
  return { price: side.price[place]!, size: side.size[place]! }
}

const PLACES = 20

function scaled(text: string): bigint {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(whole! + fraction.padEnd(PLACES, '0'))
}

function middle(bid: string, ask: string): string {
  const digits = String((scaled(bid) + scaled(ask)) / 2n).padStart(PLACES + 1, '0')
  const whole = digits.slice(0, -PLACES)
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

type Feed = { readonly name: string; readonly lines: readonly Line[] } | undefined

function lastPrice(feed: NonNullable<Feed>, at: number): Price | undefined {
  const prices = feed.lines.filter(({ type }) => type === 'reference') as unknown as Price[]
  return prices.findLast(({ received_time: received }) => received <= at)
}

function referenceOf(feed: Feed, at: number): { readonly referenceGaps: readonly string[] } {
  if (feed === undefined) return { referenceGaps: ['no_feed'] }
  const price = lastPrice(feed, at)
  const reasons = spansAt(feed.lines, at, true).map(({ reason }) => reason)
  const isEarly = price === undefined && reasons.length === 0
  return { referenceGaps: isEarly ? ['before_capture'] : reasons }
}

function referenceCells(feed: Feed, at: number): Cells {
  const isShown = feed !== undefined && spansAt(feed.lines, at, true).length === 0
  const price = isShown ? lastPrice(feed, at) : undefined
  return {
    reference_feed: feed?.name ?? null,
    reference_price: price?.price ?? null,
    reference_age_ms: price === undefined ? null : (at - price.received_time) / 1000,
  }
}
