import {
  toMicros,
  VENUES,
  type BookChange,
  type Instrument,
  type Level,
  type PriceTicks,
  type SizeUnits,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler, type Observation } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { createRandom } from './random.ts'
import { monotonicMicros } from './socket-readers.ts'

/** The market that is fed. */
export const FED_MARKET = 'KXFED-1'

const INSTRUMENT: Instrument = { venue: 'venueb', market: FED_MARKET, key: FED_MARKET }
const LEVELS = 23
const BATCH = { venue: 'venueb', origin: 'emulator', recorder: 'r1', normalizer: 1 } as const

/** A market of venue B with books of about 46 levels, whose rows are received when they are asked for. */
export class LiveFeed {
  private readonly store: Store
  private readonly epochOffset: number
  private readonly assembler = new BookAssembler(INSTRUMENT)
  private readonly random = createRandom(11)
  private position = 0
  private last = 0

  private constructor(store: Store, epochOffset: number) {
    this.store = store
    this.epochOffset = epochOffset
  }

  /** Describes the market and records its first book. */
  static async begin(store: Store, epochOffset: number): Promise<LiveFeed> {
    const feed = new LiveFeed(store, epochOffset)
    const received = feed.now()
    const observation = feed.assembler.take({
      kind: 'snapshot',
      ...feed.head(received),
      bids: side(-1),
      asks: side(1),
    })
    if ('violation' in observation) throw new Error(observation.detail)
    await store.append({
      ...BATCH,
      position: feed.position,
      observations: [observation],
      revisions: [
        {
          kind: 'market',
          received: toMicros(received),
          journal: feed.position,
          record: {
            venue: 'venueb',
            marketId: FED_MARKET,
            seriesTicker: 'KXFED',
            status: 'open',
            openTime: toMicros(received),
            outcomes: [
              { label: 'Yes', index: 0 },
              { label: 'No', index: 1 },
            ],
            units: VENUES.venueb.units,
            native: {},
          },
        },
      ],
    })
    return feed
  }

  /** Records so many rows in one commit, received now. */
  async give(rows: number): Promise<void> {
    const observations: Observation[] = []
    for (let row = 0; row < rows; row++) {
      const taken = this.assembler.take({
        kind: 'change',
        ...this.head(this.now()),
        changes: [this.change()],
        signed: false,
      })
      if ('violation' in taken) throw new Error(taken.detail)
      observations.push(taken)
    }
    await this.store.append({ ...BATCH, position: this.position, observations })
  }

  /** Rows so far. */
  get rows(): number {
    return this.position
  }

  private now(): number {
    this.last = Math.max(this.last + 1, monotonicMicros() + this.epochOffset)
    return this.last
  }

  private head(received: number) {
    this.position++
    return {
      instrument: INSTRUMENT,
      received: toMicros(received),
      source: toMicros(received - 3000),
      venueSeq: this.position,
      channel: 65_538,
      journal: this.position,
    }
  }

  private change(): BookChange['changes'][number] {
    const { random } = this
    const isBid = random.integer(0, 1) === 0
    const price = 5000 + (isBid ? -1 : 1) * random.integer(1, LEVELS) * 100
    const size = 100 * random.integer(1, 5000)
    return {
      side: isBid ? 'bid' : 'ask',
      price: price as PriceTicks,
      size: size as SizeUnits,
    }
  }
}

function side(direction: 1 | -1): Level[] {
  return Array.from({ length: LEVELS }, (_, index) => ({
    price: (5000 + direction * (index + 1) * 100) as PriceTicks,
    size: (10_000 + index * 375) as SizeUnits,
  }))
}
