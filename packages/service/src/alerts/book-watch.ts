import {
  printUnits,
  step,
  type AlertRule,
  type Threshold,
  type TriggerState,
} from '@priorbook/sdk/alerts'
import { timeJson, type AlertEventJson } from '@priorbook/sdk/wire'
import { Yielder } from '../lib/yielder.ts'
import type { NewEvent } from './alert-store.ts'
import type { BookTrack, TrackPosition, TrackRow } from './book-track.ts'
import type { Measure, Measured } from './measure.ts'
import { newEvent, type Watch } from './watch.ts'

type ValueRule = Extract<AlertRule, { readonly threshold: Threshold }>

type State = {
  readonly trigger: TriggerState
  readonly positions: Readonly<Record<string, TrackPosition>>
}

/** Watches a value of one book, or of the books of a contract together. */
export class BookWatch implements Watch {
  readonly ruleId: string
  readonly name: string
  readonly books: readonly string[]
  readonly markets: readonly string[] = []
  readonly venues: readonly string[] = []
  readonly isOver = false
  readonly #rule: ValueRule
  readonly #tracks: readonly BookTrack[]
  readonly #measure: Measure
  #trigger: TriggerState = 'unknown'

  constructor(
    ruleId: string,
    name: string,
    rule: ValueRule,
    tracks: readonly BookTrack[],
    measure: Measure,
  ) {
    this.ruleId = ruleId
    this.name = name
    this.books = tracks.map((track) => track.name)
    this.#rule = rule
    this.#tracks = tracks
    this.#measure = measure
  }

  /** Goes on where it stood; what it has not read before begins with the book of a time. */
  async open(state: string | undefined, since: number): Promise<void> {
    const { trigger, positions } = (
      state === undefined ? { trigger: 'unknown', positions: {} } : JSON.parse(state)
    ) as State
    for (const track of this.#tracks) {
      const position = positions[track.name]
      if (position === undefined) await track.begin(since)
      else await track.resume(position)
    }
    this.#trigger = trigger
    if (state !== undefined) return
    const at = Math.max(...this.#tracks.map(({ position }) => position.at))
    await this.#look(at)
  }

  state(): string {
    const positions = Object.fromEntries(this.#tracks.map(({ name, position }) => [name, position]))
    return JSON.stringify({ trigger: this.#trigger, positions } satisfies State)
  }

  async advance(): Promise<readonly NewEvent[]> {
    const events: NewEvent[] = []
    const yielder = new Yielder(true)
    for (;;) {
      const { rows, hasMore } = await this.#read()
      for (const row of rows) {
        if (!row.track.apply(row)) this.#trigger = 'unknown'
        const found = await this.#look(row.at)
        if (found !== undefined) events.push(this.#toEvent(found, row))
      }
      if (!hasMore) return events
      await yielder.yieldIfDue()
    }
  }

  // The next rows of all books by received time, up to where every book was read.
  async #read(): Promise<{ readonly rows: readonly TrackRow[]; readonly hasMore: boolean }> {
    const all: TrackRow[] = []
    let reached = Infinity
    for (const track of this.#tracks) {
      const { rows, hasMore } = await track.read()
      if (hasMore) reached = Math.min(reached, rows.at(-1)!.at)
      all.push(...rows)
    }
    const rows = all.filter(({ at }) => at <= reached)
    return { rows: rows.toSorted((a, b) => a.at - b.at), hasMore: reached !== Infinity }
  }

  // Moves the trigger by the present books; gives what was measured where the rule fires.
  async #look(at: number): Promise<Measured | undefined> {
    if (this.#tracks.some((track) => track.isDark(at))) {
      this.#trigger = 'unknown'
      return undefined
    }
    const measured = await this.#measure(at)
    if (measured === undefined) return undefined
    const { state, isFired } = step(this.#trigger, measured.value, this.#rule.threshold)
    this.#trigger = state
    return isFired ? measured : undefined
  }

  #toEvent({ value, yes, no }: Measured, { track, at }: TrackRow): NewEvent {
    const { kind, name, threshold } = this.#rule
    const { venue, marketId, key } = track.book
    const limit = printUnits(threshold.at)
    const edge: AlertEventJson['edge'] =
      this.#rule.kind === 'edge' && yes !== undefined && no !== undefined
        ? { contract_id: this.#rule.contractId, yes_row: yes.rowId, no_row: no.rowId }
        : null
    return newEvent({
      kind,
      name: name ?? null,
      time: timeJson(at, {})!,
      venue,
      market_id: marketId,
      key,
      row_id: track.rowId,
      value: printUnits(value),
      above: threshold.isAbove ? limit : null,
      below: threshold.isAbove ? null : limit,
      edge,
    })
  }
}
