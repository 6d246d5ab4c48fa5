import { startEmulator, type Emulator, type Proposition } from '@priorbook/emulator'
import { canonicalDecimal, fromMillis, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { onTestFinished } from 'vitest'
import type { DataFolder } from '../lib/data-folder.ts'
import type { StoreReader } from '../store/store.ts'
import { read } from '../recorder/scripted.testing.ts'

/** Rounds of every family that were resolved before the emulator began. */
export const HISTORY = 30
/** Speed of the emulator, and factor of the venue's quota; a short round takes 2 s. */
const SPEED = 150

/** An emulated venue A with a past, and the range in which rounds of both windows lie. */
export type PastVenue = {
  readonly emulator: Emulator
  readonly history: number
  readonly upstream: {
    readonly restBase: string
    readonly apiKey: string
    readonly apiSecret: string
  }
  readonly start: Micros
  readonly end: Micros
  /** Calls so far. */
  calls(): number
  /** The most calls in any window of this length. */
  peak(windowMs: number): number
}

/** Starts it; it is gone when the test ends. */
export async function startPast(seed = 'past', history = HISTORY): Promise<PastVenue> {
  const emulator = await startEmulator({
    seed,
    speed: SPEED,
    venues: ['venuea'],
    history,
    rates: { changes: 0.2, trades: 0, ties: 0.3 },
    log: { memory: true, books: false },
  })
  onTestFinished(() => emulator.close())
  const { rest: restBase, apiKey, apiSecret } = emulator.addresses.venuea!
  const past = pastRounds(emulator, 'BTC', history).filter(({ window }) => window === '5m')
  const answers = (): number[] =>
    emulator.truth.entries.flatMap((entry) => (entry.type === 'answer' ? [entry.at] : []))
  return {
    emulator,
    history,
    upstream: { restBase, apiKey, apiSecret },
    start: fromMillis(past[0]!.openTime),
    end: fromMillis(past.at(-1)!.closeTime),
    calls: () => answers().length,
    peak(windowMs) {
      const times = answers()
      let peak = 0
      for (let first = 0, last = 0; last < times.length; last++) {
        while (times[last]! - times[first]! >= windowMs * 1000) first++
        peak = Math.max(peak, last - first + 1)
      }
      return peak
    },
  }
}

// Those of the past were listed before all others.
function pastRounds({ world }: Emulator, asset: string, history: number): readonly Proposition[] {
  return world
    .propositions('venuea')
    .filter((round): round is Proposition => round.asset === asset)
    .slice(0, 2 * history)
    .toSorted((a, b) => a.closeTime - b.closeTime)
}

/** What a store must hold of the rounds of a coin in a range, by the emulator's own knowledge. */
export function expectedRounds(venue: PastVenue, asset: string): object[] {
  return pastRounds(venue.emulator, asset, venue.history)
    .filter(({ openTime }) => openTime * 1000 >= venue.start)
    .filter(({ closeTime }) => closeTime * 1000 <= venue.end)
    .map((round) => {
      const { winner, endPrice } = round.outcome!
      return {
        window: round.window,
        openTime: round.openTime * 1000,
        closeTime: round.closeTime * 1000,
        status: 'resolved',
        winner: { first: 'Up', second: 'Down', tie: undefined }[winner],
        payouts: { first: ['1', '0'], second: ['0', '1'], tie: ['0.5', '0.5'] }[winner],
        volume: canonicalDecimal(String(Math.floor(round.volume / 10_000) / 100)),
        liquidity: '0',
        participants: round.participants,
        startPrice: canonicalDecimal(round.startPrice),
        endPrice: canonicalDecimal(endPrice),
      }
    })
    .toSorted(byPlace)
}

/** A stored record in the same words. */
export function toRound(record: MarketRecord): object {
  return {
    window: record.window,
    openTime: record.openTime,
    closeTime: record.closeTime,
    status: record.status,
    winner: record.winningOutcome,
    payouts: record.resolution?.payouts,
    volume: record.volume,
    liquidity: record.liquidity,
    participants: record.participantCount,
    startPrice: record.resolution?.reference?.startPrice,
    endPrice: record.resolution?.reference?.endPrice,
  }
}

type Placed = { readonly window?: string; readonly openTime?: number }

/** Sorts rounds by window and time. */
export function byPlace(a: Placed, b: Placed): number {
  return (a.window ?? '').localeCompare(b.window ?? '') || (a.openTime ?? 0) - (b.openTime ?? 0)
}

/** Everything of a store that does not depend on when it was asked for. */
export async function contentsOf(store: StoreReader): Promise<object> {
  const { markets } = await store.markets({ limit: 10_000 })
  const facts: Record<string, number | undefined> = {}
  for (const window of ['5m', '15m']) {
    for (const name of ['reached', 'topic']) {
      const fact = `backfill:venuea:BTC:${window}:${name}`
      facts[fact] = await store.fact(fact)
    }
  }
  return {
    markets: markets.map(({ record, revision }) => ({ record, revision })),
    facts,
    gaps: await store.gaps({}),
    instruments: await store.instruments(),
    quarantine: await store.quarantine({ limit: 100 }),
  }
}

/** The same of a data folder. */
export function contentsIn(data: DataFolder): Promise<object> {
  return read(data, contentsOf)
}
