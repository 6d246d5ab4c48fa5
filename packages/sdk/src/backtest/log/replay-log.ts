import type { Micros } from '../../domain/index.ts'
import type { ReplayBatch, ReplayEvent } from '../../replay/index.ts'
import type { Revision } from '../records.ts'
import { RunSet, type BacktestResult, type EventSource, type RunOptions } from '../run.ts'
import type { Params, Strategy, StrategyFactory } from '../strategy.ts'
import { logStrategy, type LogEnd, type LogLine } from './run-log.ts'

/** What a replay of a log needs. */
export type ReplayLogOptions = Omit<RunOptions, 'events' | 'data' | 'strategy'> & {
  readonly strategy: Strategy | StrategyFactory
  readonly params: Params
  /** Recorded events of the same markets, from before the first row of the log. */
  readonly events: EventSource
  /** All records of the markets by the time they became known. */
  readonly revisions: readonly Revision[]
  readonly end: LogEnd
}

/** Runs the strategy of a log again over what was recorded; gives the lines that a log would have. */
export async function replayLog(
  options: ReplayLogOptions,
): Promise<{ readonly lines: readonly LogLine[]; readonly result: BacktestResult }> {
  const { strategy, params, events, revisions, end, ...rest } = options
  const lines: LogLine[] = []
  const made = typeof strategy === 'function' ? strategy(params) : strategy
  const logged = logStrategy(made, (line) => lines.push(line))
  const run = new RunSet({ ...rest, strategy: logged }, [params])
  const { world } = run
  const records = revisions.toSorted((left, right) => left.at - right.at)
  const knownBefore = (at: number): void => {
    while (records[0] !== undefined && records[0].at <= at) {
      const { at: then, record } = records.shift()!
      world.apply({ kind: 'market', at: Math.max(then, world.now) as Micros, record })
    }
  }
  for await (const batch of events) {
    for (const event of receivedOnly(batch, end)) {
      knownBefore(event.at)
      world.apply(event)
    }
  }
  knownBefore(end.to)
  world.advance(end.to)
  run.finish()
  return { lines, result: run.results()[0]! }
}

/** The events that the live run received too: from the first row of each stream on. */
function* receivedOnly(batch: ReplayBatch, { first, to }: LogEnd): Generator<ReplayEvent> {
  for (const event of batch) {
    if (event.at > to) continue
    switch (event.kind) {
      case 'book':
      case 'trade': {
        const { venue, key } = event.instrument
        if (event.sequence >= (first[`${event.kind} ${venue}:${key}`] ?? Infinity)) yield event
        break
      }
      case 'market':
        // Records come from their revisions.
        break
      case 'gap':
      case 'sample':
      case 'reference':
        yield event
    }
  }
}
