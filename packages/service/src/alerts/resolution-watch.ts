import type { AlertRule } from '@priorbook/sdk/alerts'
import { isLastStatus, type VenueId } from '@priorbook/sdk/domain'
import { timeJson } from '@priorbook/sdk/wire'
import type { StoreReader } from '../store/store.ts'
import type { NewEvent } from './alert-store.ts'
import { newEvent, type Watch } from './watch.ts'

type ResolvedRule = Extract<AlertRule, { readonly kind: 'resolved' }>

/** Watches a market until it is resolved or voided. */
export class ResolutionWatch implements Watch {
  readonly ruleId: string
  readonly name: string
  readonly books: readonly string[] = []
  readonly markets: readonly string[]
  readonly venues: readonly string[] = []
  readonly #rule: ResolvedRule
  readonly #venue: VenueId
  readonly #marketId: string
  readonly #store: StoreReader
  #isOver = false

  constructor(
    ruleId: string,
    rule: ResolvedRule,
    market: { readonly venue: VenueId; readonly marketId: string },
    store: StoreReader,
  ) {
    const { venue, marketId } = market
    this.ruleId = ruleId
    this.name = `${venue}/${marketId}`
    this.markets = [this.name]
    this.#rule = rule
    this.#venue = venue
    this.#marketId = marketId
    this.#store = store
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** A market that had ended at a time is not news. */
  async open(state: string | undefined, since: number): Promise<void> {
    if (state !== undefined) {
      this.#isOver = (JSON.parse(state) as { isOver: boolean }).isOver
      return
    }
    const then = await this.#store.market(this.#venue, this.#marketId, since)
    this.#isOver = isLastStatus(then?.record.status ?? '')
  }

  state(): string {
    return JSON.stringify({ isOver: this.#isOver })
  }

  async advance(): Promise<readonly NewEvent[]> {
    if (this.#isOver) return []
    const now = await this.#store.market(this.#venue, this.#marketId)
    const status = now?.record.status ?? ''
    if (now === undefined || !isLastStatus(status)) return []
    this.#isOver = true
    const event = newEvent({
      kind: 'resolved',
      name: this.#rule.name ?? null,
      time: timeJson(now.knownAt, {})!,
      venue: this.#venue,
      market_id: this.#marketId,
      resolution: { status, winning_outcome: now.record.winningOutcome ?? null },
    })
    return [event]
  }
}
