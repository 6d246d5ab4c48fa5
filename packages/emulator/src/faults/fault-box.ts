import type { VenueId } from '@priorbook/sdk/domain'
import type { Random } from '../world/random.ts'
import type { Fault, FaultKind, Injection } from './fault.ts'

/** An active fault. */
export type ActiveFault = Injection & { readonly id: string; struck: number }

/** Called when faults begin and end, for effects on whole sockets, ports and clocks. */
export interface FaultEffects {
  begun(fault: ActiveFault): void
  ended(fault: ActiveFault): void
}

/** The active faults and the frames, requests and connections that they hit. */
export interface FaultBox {
  begin(injection: Injection): ActiveFault
  /** False when the fault has already ended. */
  end(id: string): boolean
  list(): readonly ActiveFault[]
  /** True while any fault of the venue is active; the only check on the fast path. */
  touches(venue: VenueId): boolean
  /** The fault of this kind that hits now; counts the hit. */
  strike<K extends FaultKind>(
    kind: K,
    venue: VenueId,
    connection?: string,
    keys?: readonly string[],
  ): Extract<Fault, { kind: K }> | undefined
  close(): void
}

/** Creates an empty box; hits of faults with a share are seeded. */
export function createFaultBox(random: Random, effects: FaultEffects): FaultBox {
  const active = new Map<string, ActiveFault>()
  const timers = new Map<string, NodeJS.Timeout>()
  const perVenue = new Map<VenueId, number>()
  let counter = 0

  function end(id: string): boolean {
    const fault = active.get(id)
    if (fault === undefined) return false
    active.delete(id)
    clearTimeout(timers.get(id))
    timers.delete(id)
    const { venue } = fault.target
    perVenue.set(venue, (perVenue.get(venue) ?? 1) - 1)
    effects.ended(fault)
    return true
  }

  return {
    end,
    begin(injection) {
      const fault: ActiveFault = { ...injection, id: `f${++counter}`, struck: 0 }
      const { venue } = fault.target
      active.set(fault.id, fault)
      perVenue.set(venue, (perVenue.get(venue) ?? 0) + 1)
      if (fault.forMs !== undefined) {
        timers.set(
          fault.id,
          setTimeout(() => end(fault.id), fault.forMs),
        )
      }
      effects.begun(fault)
      return fault
    },
    list: () => [...active.values()],
    touches: (venue) => (perVenue.get(venue) ?? 0) > 0,
    strike<K extends FaultKind>(
      kind: K,
      venue: VenueId,
      connection?: string,
      keys?: readonly string[],
    ) {
      for (const candidate of active.values()) {
        const { fault, target } = candidate
        if (fault.kind !== kind || target.venue !== venue) continue
        if (target.connection !== undefined && target.connection !== connection) continue
        if (target.market !== undefined && !(keys ?? []).includes(target.market)) continue
        const { share = 1, count = Infinity } = fault as { share?: number; count?: number }
        if (candidate.struck >= count || (share < 1 && !random.chance(share))) continue
        candidate.struck++
        return fault as Extract<Fault, { kind: K }>
      }
      return undefined
    },
    close() {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      active.clear()
      perVenue.clear()
    },
  }
}
