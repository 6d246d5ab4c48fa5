import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'

const BIN = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')

/** What a run of the command printed. */
export type Ran = { readonly code: number | null; readonly out: string; readonly err: string }

/** A run of `priorbook-server`, as an operator starts it. */
export type Running = { kill(): void; isOver(): boolean; readonly ended: Promise<Ran> }

/** Starts a command in a process of its own. */
export function startCommand(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Running {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  const ended = new Promise<Ran>((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }))
  })
  return {
    kill: () => void child.kill('SIGKILL'),
    isOver: () => child.exitCode !== null,
    ended,
  }
}

/** The most answers of some paths within any window of this length, by the emulator's log. */
export function peakOf(truth: readonly TruthEntry[], path: RegExp, windowMs: number): number {
  const times = truth.flatMap((entry) =>
    entry.type === 'answer' && path.test(entry.path) ? [entry.made] : [],
  )
  let peak = 0
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= windowMs * 1000) first++
    peak = Math.max(peak, last - first + 1)
  }
  return peak
}

/** A trade in the terms of the first outcome, as text: time, price, size, side of the taker. */
export type TradeText = string

/** The trades that happened in a market by the emulator's log, from oldest to newest. */
export function happened(
  truth: readonly TruthEntry[],
  venue: string,
  key: string,
  perSecond: 1 | 1000,
): TradeText[] {
  return truth
    .flatMap((entry) => {
      if (entry.type !== 'fill' || entry.venue !== venue || !entry.keys.includes(key)) return []
      const { price, size, taker } = entry.fill
      const time = Math.floor(entry.time / (1000 / perSecond))
      return [textOf(time, price, size, taker)]
    })
    .sort()
}

/** The candlesticks of a market by the emulator's log: end of the minute, and what was traded in it. */
export function candlesOf(
  truth: readonly TruthEntry[],
  key: string,
): Map<number, { open: number; high: number; low: number; close: number; volume: number }> {
  const candles = new Map<
    number,
    { open: number; high: number; low: number; close: number; volume: number }
  >()
  for (const entry of truth) {
    if (entry.type !== 'fill' || !entry.keys.includes(key)) continue
    const { price, size } = entry.fill
    const end = Math.ceil(entry.time / 60_000) * 60_000_000
    const known = candles.get(end)
    const before = known ?? { open: price, high: price, low: price, close: price, volume: 0 }
    candles.set(end, {
      open: before.open,
      high: Math.max(before.high, price),
      low: Math.min(before.low, price),
      close: price,
      volume: before.volume + size,
    })
  }
  return candles
}

/** The last price of a market in each minute by the emulator's log, with its second. */
export function pricesOf(truth: readonly TruthEntry[], key: string): Map<number, number> {
  const last = new Map<number, readonly [second: number, price: number]>()
  for (const entry of truth) {
    if (entry.type !== 'fill' || !entry.keys.includes(key)) continue
    const second = Math.floor(entry.time / 1000)
    last.set(Math.floor(entry.time / 60_000), [second, entry.fill.price])
  }
  return new Map([...last.values()].map(([second, price]) => [second * 1_000_000, price]))
}

/** A row of the trades route. */
export type TradeRow = {
  readonly id: string
  readonly trade_id: string
  readonly outcome: string
  readonly token_id: string | null
  readonly price: string
  readonly size: string
  readonly taker_side: 'buy' | 'sell'
  readonly source_time: number
  readonly received_time: number
  readonly sequence: number
}

/** The same of rows that were served; `first` is the label of the first outcome. */
export function served(rows: readonly TradeRow[], first: string, perSecond: 1 | 1000): TradeText[] {
  return rows
    .map((row) => {
      const isFirst = row.outcome === first
      const price = Math.round(Number(row.price) * 10_000)
      const size = Math.round(Number(row.size) * 1_000_000)
      const time = Math.floor(row.source_time / (1_000_000 / perSecond))
      const other = row.taker_side === 'buy' ? 'sell' : 'buy'
      return textOf(time, isFirst ? price : 10_000 - price, size, isFirst ? row.taker_side : other)
    })
    .sort()
}

function textOf(time: number, price: number, size: number, taker: string): TradeText {
  return `${time} ${price} ${size} ${taker}`
}
