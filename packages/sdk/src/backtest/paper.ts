import type { LiveMessage, ReplayMessage } from '../client/index.ts'
import type { Gap, Micros, VenueId } from '../domain/index.ts'
import { replayMessages, type ReplayEvent } from '../replay/index.ts'
import { timeOf } from '../wire/index.ts'
import { RunSet, type BacktestResult, type RunOptions } from './run.ts'
import type { Params } from './strategy.ts'

/** Options of paper trading: a run fed by a live stream. */
export type PaperOptions = Omit<RunOptions, 'events' | 'data' | 'onProgress'> & {
  /** Messages of `client.live(…)`; subscribe without `depth` and without `conflate_ms`. */
  readonly messages: AsyncIterable<LiveMessage>
  readonly params?: Params
  /** Called with the result so far every `reportEvery` book rows (default 1,000). */
  readonly onResult?: (result: BacktestResult) => void
  readonly reportEvery?: number
}

/**
 * Runs a strategy on a live stream without sending its orders, until the stream ends or the strategy
 * fails. It sees the same events as a replay of the same hours, so the two can be compared later. A lost
 * connection is a gap, because the strategy received nothing.
 */
export async function paper(options: PaperOptions): Promise<BacktestResult> {
  const run = new RunSet(options, [options.params ?? {}])
  const { world } = run
  const { onResult, reportEvery = 1000 } = options
  const lost: Gap[] = []
  const venues = new Set<VenueId>()
  let rows = 0

  const apply = (event: ReplayEvent): void => {
    // Rows of different instruments may arrive out of order by some milliseconds.
    world.apply(event.at < world.now ? { ...event, at: world.now as Micros } : event)
  }
  const openGaps = (): void => {
    if (lost.length > 0) return
    for (const venue of venues) {
      const gap = lostConnection(venue, world.now as Micros)
      lost.push(gap)
      apply({ kind: 'gap', at: gap.start, edge: 'open', gap })
    }
  }
  const closeGaps = (): void => {
    for (const gap of lost.splice(0)) {
      apply({ kind: 'gap', at: world.now as Micros, edge: 'close', gap })
    }
  }

  // Passes on the messages that a replay also has, and handles the others here.
  async function* events(): AsyncGenerator<ReplayMessage> {
    for await (const message of options.messages) {
      switch (message.type) {
        case 'heartbeat': {
          const at = timeOf(message.server_time)
          if (at !== undefined) world.advance(at)
          break
        }
        case 'disconnected':
        case 'hole':
        case 'resync':
          if (!isMissedPrice(message)) openGaps()
          break
        case 'snapshot':
          yield { ...message, replay: '' }
          break
        case 'update':
        case 'trade':
        case 'market':
        case 'gap':
          yield message
          break
        default:
      }
      // A strategy that failed is not called any more, so the rest of the stream would change nothing.
      if (!run.isAlive) return
    }
  }

  for await (const batch of replayMessages(events())) {
    for (const event of batch) {
      if (event.kind === 'book') {
        venues.add(event.instrument.venue)
        closeGaps()
      }
      apply(event)
      if (event.kind === 'book' && ++rows % reportEvery === 0) onResult?.(resultNow(run))
    }
    if (options.signal?.aborted === true) break
  }
  run.finish()
  return run.results()[0]!
}

function lostConnection(venue: VenueId, start: Micros): Gap {
  const place = { venue, scope: 'venue', key: '', start, afterSequence: 0, journal: 0 } as const
  return { ...place, reason: 'disconnected' }
}

// The run goes on, so reports are built now and not when they are read.
function resultNow(run: RunSet): BacktestResult {
  const result = run.results()[0]!
  const { report, reports, params } = result
  return { report, reports, params, why: (order) => result.why(order) }
}

// Paper trading reads no reference prices, so books miss nothing without them.
function isMissedPrice(message: LiveMessage): boolean {
  return message.type === 'hole' && message.kind === 'reference'
}
