import { describe, expect, it } from 'vitest'
import type { Fault, FaultKind } from '../../packages/emulator/src/faults/fault.ts'
import { randomSchedule } from '../../packages/emulator/src/faults/schedule.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { recordApart } from './fault-run.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'
const VENUES = EMULATED_VENUES
// A third of the messages in short runs: what faults do to them is the same.
const SPEED = FULL ? 10 : 3.3

/** The faults that concern books; `chain.test.ts` has those of the chain. */
type BookFault = Exclude<FaultKind, `chain_${string}`>

/** Every fault, how it is injected, and how long it lasts. */
const FAULTS: Readonly<Record<BookFault, { readonly fault: Fault; readonly forMs: number }>> = {
  drop: { fault: { kind: 'drop', share: 0.05, count: 10 }, forMs: 2000 },
  duplicate: { fault: { kind: 'duplicate', share: 0.05, count: 20 }, forMs: 2000 },
  reorder: { fault: { kind: 'reorder', share: 0.05, count: 10 }, forMs: 2000 },
  malformed: { fault: { kind: 'malformed', share: 0.05, count: 10 }, forMs: 2000 },
  stall: { fault: { kind: 'stall' }, forMs: 7000 },
  slow: { fault: { kind: 'slow', delayMs: 700 }, forMs: 2500 },
  disconnect: { fault: { kind: 'disconnect' }, forMs: 0 },
  half_open: { fault: { kind: 'half_open' }, forMs: 7000 },
  oversized: { fault: { kind: 'oversized' }, forMs: 0 },
  http_429: { fault: { kind: 'http_429' }, forMs: 3000 },
  http_5xx: { fault: { kind: 'http_5xx' }, forMs: 3000 },
  http_slow: { fault: { kind: 'http_slow', delayMs: 2500 }, forMs: 3000 },
  expired_signature: { fault: { kind: 'expired_signature' }, forMs: 2500 },
  refuse: { fault: { kind: 'refuse' }, forMs: 2500 },
  clock_skew: { fault: { kind: 'clock_skew', skewMs: -7000 }, forMs: 3000 },
}

/** The reasons that a fault may leave behind; beside them only those of a market's life. */
const REASONS: Readonly<Record<BookFault, readonly string[]>> = {
  // A change that meets a book from which another one is missing may also cross it.
  drop: ['sequence_break', 'rejected'],
  duplicate: [],
  reorder: ['sequence_break', 'rejected'],
  malformed: ['rejected', 'sequence_break'],
  stall: ['venue_silent', 'sequence_break', 'rejected'],
  slow: ['venue_silent', 'quota'],
  disconnect: ['disconnected'],
  half_open: ['venue_silent', 'disconnected', 'sequence_break', 'rejected'],
  oversized: ['rejected'],
  http_429: ['quota'],
  http_5xx: ['disconnected', 'venue_silent'],
  http_slow: ['disconnected', 'venue_silent', 'quota'],
  expired_signature: [],
  refuse: [],
  clock_skew: ['sequence_break', 'venue_silent'],
}
const LIFE = ['before_capture', 'late_discovery', 'market_closed', 'recorder_down', 'book_reset']

/** In short runs every venue gets another fault at the same time; in full ones every fault meets all. */
const FAULT_KINDS = Object.keys(FAULTS) as BookFault[]
const ROUNDS: readonly (readonly BookFault[])[] = FULL
  ? FAULT_KINDS.map((kind) => [kind, kind, kind])
  : Array.from({ length: 5 }, (_, round) =>
      VENUES.map((_venue, at) => FAULT_KINDS[(round + at * 5) % FAULT_KINDS.length]!),
    )

describe('faults', () => {
  it.concurrent.each(ROUNDS)(
    '%s, %s, %s: every loss in a gap, no gap without a cause',
    async (...kinds) => {
      const faults = VENUES.map((venue, at) => ({
        ...FAULTS[kinds[at]!],
        at: 2500,
        target: { venue },
      }))
      const forMs = 2500 + Math.max(...faults.map((fault) => fault.forMs)) + 2500
      const { verdict, differences } = await recordApart({
        seed: kinds.join(),
        speed: SPEED,
        faults,
        forMs,
      })
      expect(differences).toEqual([])
      expect(verdict.complaints).toEqual([])
      expect(verdict.rows).toBeGreaterThan(300)
      const allowed = [...kinds.flatMap((kind) => REASONS[kind]), ...LIFE]
      const found = Object.keys(verdict.gaps)
      expect(found.filter((reason) => !allowed.includes(reason))).toEqual([])
    },
  )
})

describe('random schedules of overlapping faults', () => {
  const seeds = Array.from({ length: FULL ? 200 : 1 }, (_, index) => `schedule ${index + 1}`)

  it.concurrent.each(seeds)('%s', async (seed) => {
    const durationMs = FULL ? 14_000 : 10_000
    const options = { durationMs: durationMs - 2000, venues: VENUES, everyMs: 2500 }
    // Two draws laid over each other: at least five faults at a time somewhere.
    const faults = [...randomSchedule(seed, options), ...randomSchedule(`${seed} again`, options)]
    expect(faults.length).toBeGreaterThanOrEqual(5)
    const forMs = durationMs + 4000
    const { verdict, differences } = await recordApart({ seed, speed: SPEED, faults, forMs })
    expect(differences).toEqual([])
    expect(verdict.instruments).toBeGreaterThanOrEqual(20)
    expect({ seed, complaints: verdict.complaints }).toEqual({ seed, complaints: [] })
  })
})
