import { PriorbookError } from '../../domain/index.ts'
import type { FillView, OrderView } from '../order.ts'
import type { SettlementView, Strategy } from '../strategy.ts'

/** The first line of a log: how the run was made, so that it can be made again. */
export type LogHead = {
  readonly type: 'run'
  readonly format: 'priorbook-log/1'
  /** `paper`: on the live stream; `backtest`: on recorded events. */
  readonly mode: 'paper' | 'backtest'
  readonly strategy: string
  /** The settings, as the command that made the log keeps them. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** What happened: an order changed its state, was filled, or a market paid. */
export type LogLine =
  | { readonly type: 'order'; readonly order: OrderView }
  | { readonly type: 'fill'; readonly fill: FillView }
  | { readonly type: 'settlement'; readonly settlement: SettlementView }

/** The last line: what the run had received, and how late. */
export type LogEnd = {
  readonly type: 'end'
  /** The time of the run at its end, in microseconds. */
  readonly to: number
  readonly pnl: string
  /** The first row that was received of each stream, by `book` or `trade` and the instrument. */
  readonly first: Readonly<Record<string, number>>
  /** How long after the recorder the rows came, in milliseconds; absent in a backtest. */
  readonly delivery?: { readonly rows: number; readonly median_ms: number; readonly max_ms: number }
}

/** A whole log. */
export type RunLog = {
  readonly head: LogHead
  readonly lines: readonly LogLine[]
  /** Absent where the run was cut off. */
  readonly end: LogEnd | undefined
}

// A record, so that no hook can be forgotten.
const EVERY_HOOK: Readonly<Record<Exclude<keyof Strategy, 'name'>, true>> = {
  onStart: true,
  onBook: true,
  onQuote: true,
  onTrade: true,
  onGap: true,
  onFill: true,
  onOrder: true,
  onMarket: true,
  onMarketBegin: true,
  onMarketEnd: true,
  onSample: true,
  onReference: true,
  onReferenceGap: true,
  onData: true,
  onSettle: true,
  onTimer: true,
  onEnd: true,
}
const HOOKS = Object.keys(EVERY_HOOK) as readonly (keyof typeof EVERY_HOOK)[]

/** The same strategy; what happens to its orders is written as it happens, before its own hooks. */
export function logStrategy(strategy: Strategy, write: (line: LogLine) => void): Strategy {
  // Only hooks that the strategy has: the others cost time where they are absent.
  const own = HOOKS.flatMap((hook) => {
    const method = strategy[hook]
    return method === undefined ? [] : [[hook, (method as () => void).bind(strategy)] as const]
  })
  return {
    ...(strategy.name === undefined ? {} : { name: strategy.name }),
    ...(Object.fromEntries(own) as Strategy),
    onOrder(order, context) {
      write({ type: 'order', order })
      strategy.onOrder?.(order, context)
    },
    onFill(fill, context) {
      write({ type: 'fill', fill })
      strategy.onFill?.(fill, context)
    },
    onSettle(settlement, context) {
      write({ type: 'settlement', settlement })
      strategy.onSettle?.(settlement, context)
    },
  }
}

/** Reads a log; a last line that was cut off is left out. */
export function parseRunLog(text: string): RunLog {
  const rows = text.split('\n').flatMap((line, index, all) => {
    if (line === '') return []
    try {
      return [JSON.parse(line) as LogHead | LogLine | LogEnd]
    } catch {
      if (index === all.length - 1) return []
      throw new PriorbookError('invalid_line', `line ${index + 1} of the log is not JSON`)
    }
  })
  const [head] = rows
  if (head?.type !== 'run' || head.format !== 'priorbook-log/1') {
    throw new PriorbookError('unsupported_format', 'the file is not a log of a run')
  }
  return {
    head,
    lines: rows.filter(
      (row) => row.type === 'order' || row.type === 'fill' || row.type === 'settlement',
    ),
    end: rows.find((row) => row.type === 'end'),
  }
}
