import type { VenueId } from '@priorbook/sdk/domain'
import { createRandom, type Random } from '../world/random.ts'
import type { Fault, FaultKind, Injection } from './fault.ts'

/** A fault that begins `at` milliseconds after the start. */
export type ScheduledFault = Injection & { readonly at: number; readonly forMs: number }

/** How a schedule is drawn. */
export type ScheduleOptions = {
  readonly durationMs: number
  readonly venues: readonly VenueId[]
  /** The mean time between two faults of a venue; 10 s by default. */
  readonly everyMs?: number
  /** The faults to draw from; all by default. */
  readonly kinds?: readonly FaultKind[]
}

/** Draws faults for a time: the same seed gives the same schedule. Sorted by beginning. */
export function randomSchedule(seed: number | string, options: ScheduleOptions): ScheduledFault[] {
  const { durationMs, venues, everyMs = 10_000 } = options
  const kinds = options.kinds ?? DRAWN
  const schedule: ScheduledFault[] = []
  for (const venue of venues) {
    const random = createRandom(`${seed}/schedule/${venue}`)
    let at = everyMs * (0.3 + random.next())
    while (at < durationMs) {
      const kind = kinds[random.int(kinds.length)]!
      const { fault, forMs } = draw(kind, random)
      schedule.push({ at: Math.floor(at), forMs, fault, target: { venue } })
      at += forMs + everyMs * (0.5 + random.next())
    }
  }
  return schedule.sort((a, b) => a.at - b.at)
}

const DRAWN: readonly FaultKind[] = [
  'drop',
  'duplicate',
  'reorder',
  'malformed',
  'stall',
  'slow',
  'disconnect',
  'half_open',
  'oversized',
  'http_429',
  'http_5xx',
  'http_slow',
  'expired_signature',
  'refuse',
  'clock_skew',
]

function draw(kind: FaultKind, random: Random): { readonly fault: Fault; readonly forMs: number } {
  const between = (low: number, high: number): number =>
    Math.round(low + (high - low) * random.next())
  switch (kind) {
    case 'drop':
    case 'duplicate':
    case 'reorder':
      return { fault: { kind, share: 0.05, count: between(1, 20) }, forMs: between(500, 3_000) }
    case 'malformed':
      return { fault: { kind, count: between(1, 5) }, forMs: between(500, 3_000) }
    case 'stall':
      return { fault: { kind }, forMs: between(2_000, 9_000) }
    case 'slow':
      return { fault: { kind, delayMs: between(50, 1_500) }, forMs: between(1_000, 5_000) }
    case 'disconnect':
      return { fault: random.chance(0.5) ? { kind } : { kind, code: 1001 }, forMs: 0 }
    case 'half_open':
      return { fault: { kind }, forMs: between(7_000, 12_000) }
    case 'oversized':
      return { fault: { kind }, forMs: 0 }
    case 'http_429':
    case 'http_5xx':
      return { fault: { kind }, forMs: between(1_000, 4_000) }
    case 'http_slow':
      return { fault: { kind, delayMs: between(500, 6_000) }, forMs: between(1_000, 4_000) }
    case 'expired_signature':
    case 'refuse':
      return { fault: { kind }, forMs: between(500, 3_000) }
    case 'clock_skew':
      return { fault: { kind, skewMs: between(-4_000, 4_000) }, forMs: between(1_000, 5_000) }
    case 'chain_reorg':
      return { fault: { kind, depth: between(1, 3), count: 1 }, forMs: between(1_000, 3_000) }
    case 'chain_range':
      return { fault: { kind, blocks: between(1, 3) }, forMs: between(1_000, 5_000) }
    case 'chain_gap':
    case 'chain_duplicate':
    case 'chain_limit':
      return { fault: { kind }, forMs: between(1_000, 4_000) }
  }
}
