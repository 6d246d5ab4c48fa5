import type { LiveMessage, ReplayMessage } from '../client/index.ts'
import type { Gap, Micros, VenueId } from '../domain/index.ts'
import { replayMessages, type ReplayEvent } from '../replay/index.ts'
import { timeOf } from '../wire/index.ts'
import { RunSet, type BacktestResult, type RunOptions } from './run.ts'
import type { Params } from './strategy.ts'

/** Paper trading: the same run, fed by a live stream. */
export type PaperOptions = Omit<RunOptions, 'events' | 'onProgress'> & {
  /** Messages of `client.live(…)`; subscribe without `depth` and without `conflate_ms`. */
  readonly messages: AsyncIterable<LiveMessage>
  readonly params?: Params
  /** Told about every `reportEvery` rows (1,000) what came out so far. */
  readonly onResult?: (result: BacktestResult) => void
  readonly reportEvery?: number
}

/**
 * Runs a strategy on a live stream as if its orders were sent, until the stream ends. Books, trades,
 * gaps and records are those of a replay of the same hours, so the two can be compared the next day;
 * a lost connection is a gap here, because the strategy was blind.
 */
export async function paper(options: PaperOptions): Promise<BacktestResult> {
  const run = new RunSet(options, [options.params ?? {}])
  const { world } = run
  const { onResult, reportEvery = 1000 } = options
  const lost: Gap[] = []
  const venues = new Set<VenueId>()
  let rows = 0

  const take = (event: ReplayEvent): void => {
    // Rows of different instruments may overtake each other on their way by some milliseconds.
    world.apply(event.at < world.now ? { ...event, at: world.now as Micros } : event)
  }
  const lose = (): void => {
    if (lost.length > 0) return
    for (const venue of venues) {
      const start = world.now as Micros
      const place = { venue, scope: 'venue', key: '', start, afterSequence: 0, journal: 0 } as const
      const gap: Gap = { ...place, reason: 'disconnected' }
      lost.push(gap)
      take({ kind: 'gap', at: start, edge: 'open', gap })
    }
  }
  const find = (): void => {
    for (const gap of lost.splice(0)) {
      take({ kind: 'gap', at: world.now as Micros, edge: 'close', gap })
    }
  }

  // What is no event of a replay is dealt with on the way.
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
          lose()
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
    }
  }

  for await (const batch of replayMessages(events())) {
    for (const event of batch) {
      if (event.kind === 'book') {
        venues.add(event.instrument.venue)
        find()
      }
      take(event)
      if (event.kind === 'book' && ++rows % reportEvery === 0) onResult?.(run.results()[0]!)
    }
    if (options.signal?.aborted === true) break
  }
  run.finish()
  return run.results()[0]!
}
