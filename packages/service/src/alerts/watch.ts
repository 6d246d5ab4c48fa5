import type { NewEvent } from './alert-store.ts'

/** Follows one thing for one rule: a book, the books of a contract, the gaps or the record of a market. */
export interface Watch {
  readonly ruleId: string
  /** Names it among the watches of its rule, also after a restart. */
  readonly name: string
  /** Books whose rows it reads, as `venue:key`. */
  readonly books: readonly string[]
  /** Markets whose gaps and records it reads, as `venue/market`. */
  readonly markets: readonly string[]
  /** Venues whose gaps it reads. */
  readonly venues: readonly string[]
  /** Reads everything that is new, and gives what the rule was waiting for. */
  advance(): Promise<readonly NewEvent[]>
  /** Where it stands, as JSON text: a watch that is created with it goes on there. */
  state(): string
  /** True once nothing can follow. */
  readonly isOver: boolean
}

/** An event of a rule; what does not apply is null. */
export function newEvent(
  given: Pick<NewEvent, 'kind' | 'name' | 'time'> & Partial<NewEvent>,
): NewEvent {
  return {
    venue: null,
    market_id: null,
    key: null,
    row_id: null,
    value: null,
    above: null,
    below: null,
    edge: null,
    gap: null,
    resolution: null,
    ...given,
  }
}
