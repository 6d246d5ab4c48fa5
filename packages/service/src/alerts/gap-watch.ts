import type { AlertRule } from '@priorbook/sdk/alerts'
import { compareGaps, gapId, isMarketState, type Gap, type VenueId } from '@priorbook/sdk/domain'
import { timeJson, toGapJson } from '@priorbook/sdk/wire'
import { gapsOfKeys, storeGaps, VENUE_KEY } from '../rows/index.ts'
import type { StoreReader } from '../store/store.ts'
import type { NewEvent } from './alert-store.ts'
import { newEvent, type Watch } from './watch.ts'

type GapRule = Extract<AlertRule, { readonly kind: 'gap' }>

/** Whose gaps are watched: of a market and its books, of a venue as a whole, or both. */
export type GapSubject = {
  readonly venue: VenueId
  readonly marketId?: string
  readonly keys: readonly string[]
}

type State = {
  /** Gaps that ended before are over. */
  readonly since: number
  /** The known gaps that may still change, by id: whether they have ended. */
  readonly known: Readonly<Record<string, boolean>>
}

// Gaps begin at the last good row, which may be a while before they are found.
const BACK_MICROS = 3_600_000_000

/** Watches gaps begin and end. */
export class GapWatch implements Watch {
  readonly ruleId: string
  readonly name: string
  readonly books: readonly string[]
  readonly markets: readonly string[]
  readonly venues: readonly string[]
  readonly isOver = false
  readonly #rule: GapRule
  readonly #subject: GapSubject
  readonly #store: StoreReader
  readonly #now: () => number
  readonly #known = new Map<string, boolean>()
  #since = 0

  constructor(
    ruleId: string,
    rule: GapRule,
    subject: GapSubject,
    store: StoreReader,
    now: () => number,
  ) {
    const { venue, marketId, keys } = subject
    this.ruleId = ruleId
    this.name = `${venue}/${marketId ?? ''}`
    this.books = keys.map((key) => `${venue}:${key}`)
    this.markets = marketId === undefined ? [] : [`${venue}/${marketId}`]
    this.venues = keys.includes(VENUE_KEY) ? [venue] : []
    this.#rule = rule
    this.#subject = subject
    this.#store = store
    this.#now = now
  }

  /** Goes on where it stood, or begins with the gaps that are known at a time. */
  async open(state: string | undefined, since: number): Promise<void> {
    if (state !== undefined) {
      const { since: before, known } = JSON.parse(state) as State
      this.#since = before
      for (const [id, hasEnded] of Object.entries(known)) this.#known.set(id, hasEnded)
      return
    }
    this.#since = since
    // Gaps that began before the rule are known; their end is news.
    for (const gap of await this.#read()) {
      if (gap.start < since) this.#known.set(gapId(gap), (gap.end ?? Infinity) <= since)
    }
  }

  state(): string {
    const known = Object.fromEntries(this.#known)
    return JSON.stringify({ since: this.#since, known } satisfies State)
  }

  async advance(): Promise<readonly NewEvent[]> {
    const gaps = await this.#read()
    const renamed = this.#renamed(gaps)
    const events: NewEvent[] = []
    const { on } = this.#rule
    for (const gap of gaps) {
      const id = gapId(gap)
      const known = this.#known.get(id) ?? renamed.get(withoutSequence(id))
      if (known === undefined && on !== 'ended') events.push(this.#toEvent(gap, 'begun'))
      if (known !== true && gap.end !== undefined && on !== 'begun') {
        events.push(this.#toEvent(gap, 'ended'))
      }
      this.#known.set(id, gap.end !== undefined)
    }
    this.#forget(gaps)
    return events
  }

  // A rebuild gives rows new numbers, and a gap is named by the row before it. A gap that is known under its old name is
  // not reported as a new one.
  #renamed(gaps: readonly Gap[]): ReadonlyMap<string, boolean> {
    const listed = new Set(gaps.map(gapId))
    const gone = [...this.#known].filter(([id]) => !listed.has(id))
    return new Map(gone.map(([id, hasEnded]) => [withoutSequence(id), hasEnded]))
  }

  async #read(): Promise<readonly Gap[]> {
    const { venue, keys } = this.#subject
    const found = await gapsOfKeys(storeGaps(this.#store, venue), keys, { start: this.#since })
    return found.filter(({ reason }) => !isMarketState(reason)).sort(compareGaps)
  }

  // Moves the start of what is read, and forgets the gaps before it.
  #forget(gaps: readonly Gap[]): void {
    const open = gaps.filter(({ end }) => end === undefined).map(({ start }) => start)
    this.#since = Math.max(this.#since, Math.min(this.#now() - BACK_MICROS, ...open))
    const listed = new Set(gaps.map(gapId))
    for (const id of this.#known.keys()) if (!listed.has(id)) this.#known.delete(id)
  }

  #toEvent(gap: Gap, moment: 'begun' | 'ended'): NewEvent {
    const { venue, marketId } = this.#subject
    const time = moment === 'begun' ? gap.start : (gap.end ?? gap.start)
    return newEvent({
      kind: 'gap',
      name: this.#rule.name ?? null,
      time: timeJson(time, {})!,
      venue,
      market_id: marketId ?? null,
      key: gap.key === VENUE_KEY ? null : gap.key,
      gap: { moment, gap: toGapJson(gap, {}) },
    })
  }
}

// The sequence is the last part of the id.
function withoutSequence(id: string): string {
  return id.slice(0, id.lastIndexOf('/'))
}
