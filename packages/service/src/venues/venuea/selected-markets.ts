import {
  PriorbookError,
  type CaptureDecision,
  type CaptureTier,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { noteLeftSockets, noteTier } from '../capture/selection/note-tier.ts'
import type { MarketFacts } from '../capture/selection/rules.ts'
import {
  Selection,
  type SelectionOptions,
  type SurveyedMarket,
} from '../capture/selection/selection.ts'
import { tellSelection, toFollowed } from '../capture/selection/told.ts'
import { normalizeTopic, normalizeTopics } from './catalog.ts'

/** What the selection of venue A works with. */
export type SelectedMarketsOptions = {
  readonly selection: SelectionOptions
  readonly sink: Pick<CaptureSink, 'now' | 'note'>
  readonly log: CaptureLog
  readonly nowMs: () => number
  readonly isFollowed: (marketId: string) => boolean
}

/**
 * Which markets of venue A are recorded, and how deep. Rules that name assets and nothing else, as the defaults
 * do, need the list of rounds alone, and everything in that list is kept; others decide about every market.
 */
export class SelectedMarkets {
  readonly #options: SelectedMarketsOptions
  readonly #selection: Selection
  #assets: ReadonlySet<string> | undefined

  constructor(options: SelectedMarketsOptions) {
    this.#options = options
    this.#selection = new Selection(options.selection)
    this.#assets = assetsAlone(options.selection)
  }

  /** True where markets of any category may be selected. */
  get isBroad(): boolean {
    return this.#assets === undefined
  }

  change(selection: SelectionOptions): void {
    this.#selection.change(selection)
    this.#assets = assetsAlone(selection)
  }

  isWanted(record: MarketRecord): boolean {
    const decision = this.#decide(record)
    if (this.#assets !== undefined) return this.#assets.has(record.asset ?? '')
    return decision !== undefined && decision.tier !== 'none'
  }

  /** Where rounds alone are followed, all of them have their books. */
  tierOf(marketId: string): CaptureTier {
    return this.#assets === undefined ? (this.#selection.tierOf(marketId) ?? 'none') : 'full'
  }

  /** Markets by tier, of which `open` are followed. */
  countTiers(open: number): Readonly<Record<CaptureTier, number>> {
    const rounds = { full: open, polled: 0, catalogue: 0, none: 0 }
    return this.#assets === undefined ? this.#selection.counts : rounds
  }

  /** Takes a market of an earlier run, with what was decided then. */
  adopt(facts: MarketFacts): void {
    this.#selection.adopt(facts, activityOf(facts), this.#options.nowMs())
  }

  /** Decides about the markets of an answer, and says so in its request; undefined where none is kept. */
  tell(request: CaptureRequest, value: unknown): CaptureRequest | undefined {
    const at = { received: this.#options.sink.now(), journal: 0 }
    try {
      const normalize = request.kind === 'topic' ? normalizeTopic : normalizeTopics
      const category = request['category']
      const named = typeof category === 'string' ? category : undefined
      const records = recordsOf(normalize(value, at, named))
      return tellSelection(request, records, (record) =>
        toFollowed(this.#decide(record), this.#options.isFollowed(record.marketId)),
      )
    } catch (error) {
      // The recorder puts a malformed answer into quarantine.
      if (!(error instanceof PriorbookError)) throw error
      return request
    }
  }

  /** Decides again, says what changed, and returns the selected markets that are not followed. */
  review(): readonly MarketFacts[] {
    if (this.#assets !== undefined) return []
    const { sink, log, nowMs, isFollowed } = this.#options
    for (const change of this.#selection.review(nowMs(), isFollowed)) {
      const markets = change.markets.filter(isFollowed)
      noteTier({ ...change, markets }, sink, log)
      if (change.tier === 'polled') noteLeftSockets(markets, sink)
    }
    return [...this.#selection.survey()].flatMap(({ tier, facts }) =>
      tier === 'none' || isFollowed(facts.marketId) ? [] : [facts],
    )
  }

  /** Nothing more will happen to these markets. */
  forget(marketIds: Iterable<string>): void {
    this.#selection.forget(marketIds)
  }

  survey(): Iterable<SurveyedMarket> {
    this.#selection.review(this.#options.nowMs(), () => true)
    return this.#selection.survey()
  }

  #decide(record: MarketRecord): CaptureDecision | undefined {
    return this.#selection.judge(record, activityOf(record), this.#options.nowMs())
  }
}

/** The assets of rules that name assets and nothing else; undefined for other rules. */
function assetsAlone({ rules, pinned }: SelectionOptions): ReadonlySet<string> | undefined {
  const isPlain = rules.every(
    ({ asset, tier, ...others }) =>
      asset !== undefined && tier === 'full' && Object.keys(others).length === 0,
  )
  if (!isPlain || pinned.length > 0) return undefined
  return new Set(rules.flatMap(({ asset = [] }) => asset))
}

// The venue says what was traded in the market's whole life.
function activityOf({ volume }: MarketFacts): number {
  return Number(volume ?? 0)
}
