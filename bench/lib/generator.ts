import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createGeneratedBook } from './generated-book.ts'
import { createRandom } from './random.ts'
import { channelFolder } from './recordings.ts'
import type { BookChange } from './generated-book.ts'
import type { Random } from './random.ts'

/**
 * Writes a recordings folder of six invented markets that behaves like the real recordings, for
 * machines without them. `scale` shrinks the number of observations.
 */
export function generateRecordings(folder: string, seed: number, scale = 1): void {
  markets.forEach((market, index) => {
    const random = createRandom(seed * 1000 + index)
    const count = Math.max(200, Math.round(market.observations * scale))
    const days = new Map<string, string[]>()
    for (const { receivedMs, event } of generateLines(random, market, count)) {
      const day = new Date(receivedMs).toISOString().slice(0, 10)
      const lines = days.get(day) ?? []
      days.set(day, lines)
      lines.push(JSON.stringify({ recv_ms: receivedMs, event }))
    }
    const target = join(folder, channelFolder, market.ticker)
    mkdirSync(target, { recursive: true })
    for (const [day, lines] of days) {
      writeFileSync(join(target, `${day}.ndjson.gz`), gzipSync(`${lines.join('\n')}\n`))
    }
  })
}

type GeneratedMarket = {
  readonly ticker: string
  readonly closeMs: number
  readonly seconds: number
  readonly observations: number
  /** Price levels of both sides together that the book keeps about. */
  readonly levels: number
  /** Part of the new orders whose size is no whole number. */
  readonly fractional: number
  /** Received minus source time; negative where the clock of the recorder was behind. */
  readonly lagMs: number
  /** Mean jump of the venue's seq, which other tickers of the subscription share. */
  readonly seqJump: number
  /** The connection of the densest market is lost once. */
  readonly disconnects: boolean
}

// Counts, spans, levels, lags and jumps as measured on the six recorded markets.
const markets: readonly GeneratedMarket[] = [
  define('KXSYNT15M-26AUG050800-00', '2026-08-05T12:00:00Z', 864, 28600, 24, 0.05, -17, 6),
  define('KXSYNT15M-26AUG060000-00', '2026-08-06T04:00:00Z', 811, 48200, 66, 0.1, 10, 6),
  define('KXSYNT15M-26AUG101900-00', '2026-08-10T23:00:00Z', 863, 22000, 61, 0.33, 6, 9),
  define('KXSYNT15M-26AUG102000-00', '2026-08-11T00:00:00Z', 823, 46400, 59, 0.22, 11, 9),
  define('KXSYNT15M-26AUG102130-30', '2026-08-11T01:30:00Z', 886, 196000, 54, 0.09, 13, 3),
  define('KXSYNT15M-26AUG102200-00', '2026-08-11T02:00:00Z', 811, 29400, 33, 0.25, 12, 12),
]

function define(
  ticker: string,
  close: string,
  seconds: number,
  observations: number,
  levels: number,
  fractional: number,
  lagMs: number,
  seqJump: number,
): GeneratedMarket {
  const disconnects = observations > 100000
  const closeMs = Date.parse(close)
  return {
    ticker,
    closeMs,
    seconds,
    observations,
    levels,
    fractional,
    lagMs,
    seqJump,
    disconnects,
  }
}

type GeneratedLine = {
  readonly receivedMs: number
  readonly event: Readonly<Record<string, unknown>>
}

function* generateLines(
  random: Random,
  market: GeneratedMarket,
  count: number,
): Generator<GeneratedLine> {
  const marketId = uuid(random)
  const book = createGeneratedBook(random, market.levels, market.fractional)
  const openMicros = (market.closeMs - market.seconds * 1000) * 1000
  const closeMicros = market.closeMs * 1000
  const closing = random.integer(1, 2)
  let seq = random.integer(1_000_000, 12_000_000)
  let tradeSeq = random.integer(100_000, 200_000)
  let written = 1
  let sourceMicros = openMicros
  let receivedMs = Math.floor(openMicros / 1000) + Math.max(0, market.lagMs)
  /** While the recorder stands still, everything that happens is received at its end. */
  let stalledUntilMs = 0
  let disconnected = !market.disconnects

  yield line('orderbook_snapshot', 1, seq, snapshotMessage())
  while (written < count - closing) {
    // The mean gap is what the time that is left needs, so every market ends at its close.
    const groups = (count - closing - written) / 1.45
    const mean = (closeMicros - 1000 - sourceMicros) / Math.max(1, groups)
    sourceMicros += random.chance(0.45)
      ? random.integer(1, 400)
      : Math.ceil(random.exponential(mean / 0.55))
    sourceMicros = Math.min(sourceMicros, closeMicros - 1)
    if (random.chance(0.0006)) stalledUntilMs = sourceMicros / 1000 + random.exponential(700)

    if (!disconnected && sourceMicros > openMicros + 60_000_000) {
      disconnected = true
      yield* loseConnection()
      continue
    }
    for (const change of book.step()) {
      if (written >= count - closing) break
      receive()
      if (change.kind === 'trade') {
        yield tradeLine(change)
      } else {
        // A second change of one action carries the very same source time, most of the time.
        if (!change.isFirst && random.chance(0.12)) sourceMicros += random.integer(1, 300)
        written += 1
        yield deltaLine(change)
      }
    }
  }
  for (let empty = 0; empty < closing; empty++) {
    receivedMs = Math.max(receivedMs, market.closeMs) + random.integer(200, 1500)
    seq += random.geometric(100)
    yield line('orderbook_snapshot', 1, seq, { market_ticker: market.ticker, market_id: marketId })
  }

  /** Ten seconds of silence, nine late deltas, then the snapshot of a new connection. */
  function* loseConnection(): Generator<GeneratedLine> {
    receivedMs += 10_006
    for (let late = 0; late < 9;) {
      sourceMicros += random.integer(1, 400)
      for (const change of book.step()) {
        if (change.kind !== 'delta' || late === 9) continue
        late += 1
        written += 1
        yield deltaLine(change)
      }
    }
    for (let unseen = 0; unseen < 500; unseen++) book.step()
    receivedMs += 1327
    sourceMicros = receivedMs * 1000
    seq = 22
    written += 1
    yield line('orderbook_snapshot', 1, seq, snapshotMessage())
  }

  /** Received times never go back, and changes of one burst share their millisecond. */
  function receive(): void {
    const sourceMs = sourceMicros / 1000
    const stalled = Math.max(0, stalledUntilMs - sourceMs)
    // About twenty messages a millisecond are read while catching up.
    if (stalled > 0) stalledUntilMs += 0.05
    const jitter = random.chance(0.25) ? random.exponential(3) : 0
    receivedMs = Math.max(receivedMs, Math.floor(sourceMs + market.lagMs + stalled + jitter))
  }

  function deltaLine(change: BookChange & { readonly kind: 'delta' }): GeneratedLine {
    seq += random.chance(0.6) ? 1 : random.geometric(market.seqJump * random.pick([1, 1, 1, 8]))
    const sourceMs = Math.floor(sourceMicros / 1000)
    const micros = String(sourceMicros % 1_000_000).padStart(6, '0')
    return line('orderbook_delta', 1, seq, {
      market_ticker: market.ticker,
      market_id: marketId,
      price_dollars: dollars(change.cents),
      delta_fp: contracts(change.size),
      side: change.side,
      ts: `${new Date(sourceMs).toISOString().slice(0, 19)}.${micros}Z`,
      ts_ms: sourceMs,
    })
  }

  function tradeLine(change: BookChange & { readonly kind: 'trade' }): GeneratedLine {
    tradeSeq += random.geometric(2)
    const sourceMs = Math.floor(sourceMicros / 1000)
    const yesCents = change.side === 'yes' ? change.cents : 100 - change.cents
    const taker = change.side === 'yes' ? 'no' : 'yes'
    return line('trade', 2, tradeSeq, {
      trade_id: uuid(random),
      market_ticker: market.ticker,
      yes_price_dollars: dollars(yesCents),
      no_price_dollars: dollars(100 - yesCents),
      count_fp: contracts(change.size),
      taker_side: taker,
      taker_outcome_side: taker,
      taker_book_side: taker === 'yes' ? 'bid' : 'ask',
      ts: Math.floor(sourceMs / 1000),
      ts_ms: sourceMs,
    })
  }

  function snapshotMessage(): Readonly<Record<string, unknown>> {
    const toWire = (levels: readonly (readonly [number, number])[]): string[][] =>
      levels.map(([cents, size]) => [dollars(cents), contracts(size)])
    return {
      market_ticker: market.ticker,
      market_id: marketId,
      yes_dollars_fp: toWire(book.levels('yes')),
      no_dollars_fp: toWire(book.levels('no')),
    }
  }

  function line(type: string, sid: number, lineSeq: number, msg: unknown): GeneratedLine {
    return { receivedMs, event: { type, sid, seq: lineSeq, msg } }
  }
}

function dollars(cents: number): string {
  return `0.${String(cents).padStart(2, '0')}00`
}

function contracts(hundredths: number): string {
  return (hundredths / 100).toFixed(2)
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
