import type { LatencyOptions } from '../backtest/index.ts'
import { parsedOption, UsageError } from '../command-line/index.ts'

/** The options that set the delays of a run. */
export const LATENCY_OPTIONS = {
  latency: parsedOption(
    'How long a decision takes to reach the book; 50 by default.',
    { value: 'MS' },
    parseDelay,
  ),
  'feed-latency': parsedOption(
    'How much later than the recorder the strategy sees each event; 0 by default.',
    { value: 'MS' },
    parseDelay,
  ),
  'ack-latency': parsedOption(
    'How long fills and other answers take to reach the strategy; 0 by default.',
    { value: 'MS' },
    parseDelay,
  ),
}

/** The delays of a job or of a log, in microseconds. Logs of older versions have the first one only. */
export type DelaySettings = {
  readonly latencyMicros: number
  readonly feedMicros?: number
  readonly acknowledgeMicros?: number
}

/** Reads the delays of a run from its options. */
export function delaysOf(options: {
  readonly [Name in keyof typeof LATENCY_OPTIONS]: number | undefined
}): Required<DelaySettings> {
  return {
    latencyMicros: options.latency ?? 50_000,
    feedMicros: options['feed-latency'] ?? 0,
    acknowledgeMicros: options['ack-latency'] ?? 0,
  }
}

/** The delays as the engine takes them. */
export function latencyOf(settings: DelaySettings): LatencyOptions {
  const { latencyMicros, feedMicros = 0, acknowledgeMicros = 0 } = settings
  return {
    feed: feedMicros,
    entry: latencyMicros,
    cancel: latencyMicros,
    acknowledge: acknowledgeMicros,
  }
}

function parseDelay(text: string, name: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return Math.round(Number(text) * 1000)
  throw new UsageError(`--${name} is ${text}`, 'It is a number of milliseconds.')
}
