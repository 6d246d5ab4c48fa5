/**
 * The book after one recorded snapshot or delta, folded without any code of the product.
 * Prices are integers of 1e-4 dollars, sizes of 1e-2 contracts; ladders are best first.
 */
export type FoldedObservation = {
  readonly ticker: string
  /** 1 for the first observation of the ticker, then without holes. */
  readonly sequence: number
  readonly receivedMicros: number
  /** Snapshots carry no time of the venue. */
  readonly sourceMicros: number | null
  readonly venueSid: number
  readonly venueSeq: number
  readonly isSnapshot: boolean
  readonly bidPrice: readonly number[]
  readonly bidSize: readonly number[]
  readonly askPrice: readonly number[]
  readonly askSize: readonly number[]
}

/** Folds the recorded lines of one ticker, in their order, into one book an observation. */
export function* foldLines(lines: Iterable<string>): Generator<FoldedObservation> {
  let yes = new Map<number, number>()
  let no = new Map<number, number>()
  let sequence = 0

  for (const line of lines) {
    if (line === '') continue
    const { recv_ms: receivedMs, event } = JSON.parse(line) as RecordedLine
    if (event.type === 'trade') continue

    if (event.type === 'orderbook_snapshot') {
      yes = toLadder(event.msg.yes_dollars_fp)
      no = toLadder(event.msg.no_dollars_fp)
    } else {
      const ladder = event.msg.side === 'yes' ? yes : no
      const price = parseFixed(event.msg.price_dollars, 4)
      const size = (ladder.get(price) ?? 0) + parseFixed(event.msg.delta_fp, 2)
      if (size < 0) throw new Error(`${event.msg.market_ticker} seq ${event.seq}: negative size`)
      if (size === 0) ladder.delete(price)
      else ladder.set(price, size)
    }

    // Both sides are bids; a NO bid at p is a YES ask at 1 - p, so both sort high to low.
    const bids = [...yes].sort((left, right) => right[0] - left[0])
    const asks = [...no].sort((left, right) => right[0] - left[0])
    sequence += 1
    yield {
      ticker: event.msg.market_ticker,
      sequence,
      receivedMicros: receivedMs * 1000,
      sourceMicros: event.type === 'orderbook_delta' ? parseRfc3339(event.msg.ts) : null,
      venueSid: event.sid,
      venueSeq: event.seq,
      isSnapshot: event.type === 'orderbook_snapshot',
      bidPrice: bids.map(([price]) => price),
      bidSize: bids.map(([, size]) => size),
      askPrice: asks.map(([price]) => 10000 - price),
      askSize: asks.map(([, size]) => size),
    }
  }
}

/** Reads a decimal text such as "-54.1" as an exact integer of 10^-places. */
export function parseFixed(text: string, places: number): number {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text)
  const fraction = match?.[3] ?? ''
  if (match === null || /[^0]/.test(fraction.slice(places))) {
    throw new Error(`"${text}" is no decimal of ${places} places`)
  }
  const digits = Number(match[2] + fraction.slice(0, places).padEnd(places, '0'))
  // Without the test a "-0.00" would become the number -0.
  return match[1] === '-' && digits !== 0 ? -digits : digits
}

/** Reads an RFC 3339 time in UTC as microseconds since 1970, without rounding. */
function parseRfc3339(text: string): number {
  const match = /^(.{19})(?:\.(\d{1,6}))?Z$/.exec(text)
  const ms = match === null ? Number.NaN : Date.parse(`${match[1]}Z`)
  if (match === null || Number.isNaN(ms)) throw new Error(`"${text}" is no time in UTC`)
  return ms * 1000 + Number((match[2] ?? '').padEnd(6, '0'))
}

type RecordedLine = {
  readonly recv_ms: number
  readonly event:
    | RecordedEvent<'orderbook_snapshot', SnapshotMessage>
    | RecordedEvent<'orderbook_delta', DeltaMessage>
    | RecordedEvent<'trade', unknown>
}

type RecordedEvent<Type extends string, Message> = {
  readonly type: Type
  readonly sid: number
  readonly seq: number
  readonly msg: Message
}

type SnapshotMessage = {
  readonly market_ticker: string
  readonly yes_dollars_fp?: readonly (readonly [string, string])[]
  readonly no_dollars_fp?: readonly (readonly [string, string])[]
}

type DeltaMessage = {
  readonly market_ticker: string
  readonly price_dollars: string
  readonly delta_fp: string
  readonly side: 'yes' | 'no'
  readonly ts: string
}

/** A side whose key is absent is an empty side. */
function toLadder(levels: readonly (readonly [string, string])[] = []): Map<number, number> {
  return new Map(levels.map(([price, size]) => [parseFixed(price, 4), parseFixed(size, 2)]))
}
