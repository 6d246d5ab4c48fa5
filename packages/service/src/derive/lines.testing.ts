/** A hand-written venue B recording: each call adds a line, `text` is the file. */
export function createLines(ticker = 'TEST-26AUG01-T1'): {
  readonly lines: string[]
  text(): string
  snapshot(receivedMs: number, seq: number, yes: Pair[], no: Pair[]): void
  delta(receivedMs: number, seq: number, side: 'yes' | 'no', price: string, change: string): void
  trade(receivedMs: number, seq: number, id: string): void
  raw(line: string): void
} {
  const lines: string[] = []
  const add = (receivedMs: number, type: string, sid: number, seq: number, msg: object): void => {
    const event = { type, sid, seq, msg: { market_ticker: ticker, market_id: 'id-1', ...msg } }
    lines.push(JSON.stringify({ recv_ms: receivedMs, event }))
  }
  return {
    lines,
    text: () => lines.map((line) => `${line}\n`).join(''),
    snapshot: (receivedMs, seq, yes, no) =>
      add(receivedMs, 'orderbook_snapshot', 1, seq, {
        ...(yes.length === 0 ? {} : { yes_dollars_fp: yes }),
        ...(no.length === 0 ? {} : { no_dollars_fp: no }),
      }),
    delta: (receivedMs, seq, side, price, change) =>
      add(receivedMs, 'orderbook_delta', 1, seq, {
        price_dollars: price,
        delta_fp: change,
        side,
        ts: new Date(receivedMs - 10).toISOString(),
        ts_ms: receivedMs - 10,
      }),
    trade: (receivedMs, seq, id) =>
      add(receivedMs, 'trade', 2, seq, {
        trade_id: id,
        yes_price_dollars: '0.4000',
        no_price_dollars: '0.6000',
        count_fp: '3.00',
        taker_side: 'yes',
        taker_outcome_side: 'yes',
        taker_book_side: 'bid',
        ts: Math.floor(receivedMs / 1000),
        ts_ms: receivedMs,
      }),
    raw: (line) => void lines.push(line),
  }
}

type Pair = readonly [price: string, size: string]

/** The first millisecond of the hand-written recordings. */
export const START_MS = 1_786_000_000_000
