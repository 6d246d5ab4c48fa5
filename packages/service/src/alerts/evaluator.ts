import { instrumentName, isLastStatus, type Instrument, type VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { PlanGrant } from '../api/auth/grant.ts'
import { requireWatchable } from '../api/contracts/watchable.ts'
import type { ApiContext, StoredAlert } from '../api/route.ts'
import { ChangeFollower } from '../live/change-follower.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import type { Changes, MarketState } from '../store/store.ts'
import type { AlertStore, NewEvent, WatchStep } from './alert-store.ts'
import { commonWatchesOf, isFamily, isWatched, watchesOf, type NewWatch } from './rule-watches.ts'
import type { Watch } from './watch.ts'

/** What an evaluator reads, and where it writes. */
export type EvaluatorOptions = {
  readonly context: ApiContext
  readonly alerts: AlertStore
  /** The name under which this process holds the lease. */
  readonly holder: string
  /** Renews the lease where that is due, and lets others run; false where another process took over. */
  keep(): Promise<boolean>
  /** What the owners of rules may read now, by key; undefined for one that may read nothing. */
  grants(): (keyId: string) => PlanGrant | undefined
  onError(error: unknown, what: object): void
}

type LoadedRule = {
  readonly alert: StoredAlert
  readonly grant: PlanGrant
  readonly watches: Map<string, NewWatch>
}

// How often positions without an event are stored: after a crash at most this much is read again.
const SAVE_MS = 1000
// How often markets that ended are left, and members of contracts are looked up again.
const TIDY_MS = 30_000
// Markets of families are looked for from this long before the last look on.
const BACK_MICROS = 3_600_000_000
const PAGE = 500
// Steps that are stored together at most: a process that takes over has less to read again.
const MAX_STEPS = 200
// Markets that no family wants, so that their record is read once.
const MAX_UNWANTED = 20_000

/**
 * Evaluates the rules of all keys on committed rows. Where it stands in the rows and the events that it found
 * are stored together, so that every row counts once however often the process is killed. A changed book
 * costs as much as the rules that watch it; without rules nothing is read.
 */
export class Evaluator {
  readonly #options: EvaluatorOptions
  readonly #follower: ChangeFollower
  readonly #rules = new Map<string, LoadedRule>()
  readonly #byBook = new Map<string, Set<Watch>>()
  readonly #byMarket = new Map<string, Set<Watch>>()
  readonly #byVenue = new Map<string, Set<Watch>>()
  readonly #unwanted = new BoundedMap<string, true>(MAX_UNWANTED)
  readonly #unsaved = new Set<Watch>()
  #families: LoadedRule[] = []
  #mustScan = true
  /** True when another process took over: what was read since is not stored, and must not be built on. */
  #isLost = false
  #savedMs = 0
  #tidiedMs = performance.now()

  constructor(options: EvaluatorOptions) {
    this.#options = options
    this.#follower = new ChangeFollower(options.context.store)
  }

  /** True for a rule whose owner may still read what it watches. */
  has(ruleId: string): boolean {
    return this.#rules.has(ruleId)
  }

  /** Loads rules that are new or allowed again, and leaves those that are gone or not allowed any more. */
  async load(): Promise<void> {
    const { alerts } = this.#options
    const grantOf = this.#options.grants()
    const wanted = new Map(alerts.rules().map((alert) => [alert.id, alert]))
    for (const [id, { alert, grant }] of this.#rules) {
      const now = grantOf(alert.keyId)
      // A rule under other terms goes on as it was stored, if they include what it watches.
      if (!wanted.has(id) || now === undefined || !isSamePlan(grant, now)) this.#unload(id)
    }
    for (const alert of wanted.values()) {
      const grant = this.#rules.has(alert.id) ? undefined : grantOf(alert.keyId)
      if (grant === undefined) continue
      if (!(await this.#keeps())) return
      const rule: LoadedRule = { alert, grant, watches: new Map() }
      this.#rules.set(alert.id, rule)
      this.#unwanted.clear()
      await this.#try(alert.id, () => this.#begin(rule))
    }
    this.#families = [...this.#rules.values()].filter(({ alert }) => isFamily(alert.rule))
  }

  /** Reads what was committed since the last call; false where another process took over. */
  async tick(): Promise<boolean> {
    if (this.#isLost) return false
    if (this.#rules.size === 0) {
      this.#follower.close()
      this.#mustScan = true
      return true
    }
    const due = await this.#due()
    if (!(await this.#advance(due))) return false
    const nowMs = performance.now()
    if (nowMs - this.#tidiedMs >= TIDY_MS) {
      this.#tidiedMs = nowMs
      await this.#tidy()
    }
    if (nowMs - this.#savedMs < SAVE_MS || this.#unsaved.size === 0) return true
    this.#savedMs = nowMs
    return this.#save([...this.#unsaved].map((watch) => toStep(watch, [])))
  }

  /** Ends without a word: what was not stored is read again. */
  abandon(): void {
    this.#follower.close()
  }

  /** Stores where everything stands. */
  close(): void {
    this.#follower.close()
    if (this.#unsaved.size > 0) this.#save([...this.#unsaved].map((watch) => toStep(watch, [])))
  }

  async #due(): Promise<Set<Watch>> {
    const due = new Set<Watch>()
    const isFirst = this.#mustScan
    if (isFirst) await this.#follower.open()
    const changes = await this.#follower.poll()
    // Rows that were read may have been replaced.
    if (changes?.missed === 'rebuilt') await this.#reopen()
    if (isFirst || changes?.missed !== undefined) {
      this.#mustScan = true
      await this.#scanFamilies()
      for (const { watches } of this.#rules.values()) {
        for (const watch of watches.values()) due.add(watch)
      }
      this.#mustScan = false
    }
    if (changes !== undefined) await this.#sort(changes, due)
    return due
  }

  // Loads all rules again, which go on at the times that they had reached.
  async #reopen(): Promise<void> {
    if (!this.#save([...this.#unsaved].map((watch) => toStep(watch, [])))) return
    for (const id of this.#rules.keys()) this.#unload(id)
    this.#unwanted.clear()
    await this.load()
  }

  async #sort(changes: Changes, due: Set<Watch>): Promise<void> {
    const add = (watches: ReadonlySet<Watch> | undefined): void => {
      for (const watch of watches ?? []) due.add(watch)
    }
    if (this.#families.length > 0) {
      for (const instrument of changes.books) await this.#offer(instrument, due)
      for (const { venue, marketId } of changes.markets) {
        // Its record may name now what a family is chosen by.
        this.#unwanted.delete(`${venue}/${marketId}`)
        await this.#offer({ venue, market: marketId, key: '' }, due)
      }
    }
    for (const instrument of changes.books) add(this.#byBook.get(instrumentName(instrument)))
    for (const { venue, marketId } of changes.markets) {
      add(this.#byMarket.get(`${venue}/${marketId}`))
    }
    for (const { venue, key } of changes.gaps) {
      add(this.#byBook.get(`${venue}:${key}`))
      add(this.#byMarket.get(`${venue}/${key}`))
      if (key === '') add(this.#byVenue.get(venue))
    }
  }

  async #keeps(): Promise<boolean> {
    this.#isLost ||= !(await this.#options.keep())
    return !this.#isLost
  }

  // A market that was not seen before may belong to a family.
  async #offer({ venue, market }: Instrument, due: Set<Watch>): Promise<void> {
    const name = `${venue}/${market}`
    if (this.#unwanted.get(name) === true) return
    const state = await this.#options.context.store.market(venue, market)
    if (state === undefined) return
    for (const rule of this.#families) {
      for (const watch of await this.#attach(rule, state)) due.add(watch)
    }
    this.#unwanted.set(name, true)
  }

  async #advance(due: ReadonlySet<Watch>): Promise<boolean> {
    const steps: WatchStep[] = []
    for (const watch of due) {
      if (!this.has(watch.ruleId)) continue
      if (!(await this.#keeps())) return false
      let events: readonly NewEvent[] = []
      try {
        events = await watch.advance()
      } catch (error) {
        // What it found is lost with the error, so that its rule is loaded again as it was stored.
        this.#options.onError(error, { alert: watch.ruleId, watch: watch.name })
        this.#unload(watch.ruleId)
        continue
      }
      this.#unsaved.add(watch)
      if (events.length > 0 || watch.isOver) steps.push(toStep(watch, events))
      if (steps.length >= MAX_STEPS && !this.#save(steps.splice(0))) return false
    }
    return steps.length === 0 || this.#save(steps)
  }

  #save(steps: readonly WatchStep[]): boolean {
    const { alerts, holder } = this.#options
    if (!alerts.commit(holder, steps)) {
      this.#isLost = true
      return false
    }
    const saved = new Set(steps.map(({ ruleId, name }) => `${ruleId} ${name}`))
    for (const watch of this.#unsaved) {
      if (saved.has(`${watch.ruleId} ${watch.name}`)) this.#unsaved.delete(watch)
    }
    return true
  }

  async #begin(rule: LoadedRule): Promise<void> {
    const { alert, grant } = rule
    const { context } = this.#options
    await requireWatchable(context, grant, alert.rule)
    for (const watch of await commonWatchesOf(context, grant, alert)) await this.#open(rule, watch)
    if (alert.rule.kind === 'edge') return
    const { venue, marketId } = alert.rule.scope
    if (marketId === undefined) {
      await this.#resumeFamily(rule)
      await this.#scanFamily(rule)
    } else {
      const state = await context.store.market(venue, marketId)
      if (state !== undefined) await this.#attach(rule, state)
    }
    await this.#advance(new Set(rule.watches.values()))
  }

  // Attaches the markets of a family that were watched before: one may have closed long ago and wait for its resolution.
  async #resumeFamily(rule: LoadedRule): Promise<void> {
    const { alerts, context } = this.#options
    for (const name of alerts.openWatches(rule.alert.id)) {
      const market = rule.watches.has(name) ? undefined : await this.#marketOf(name)
      if (market === undefined) continue
      if (!(await this.#keeps())) return
      const state = await context.store.market(market.venue, market.id)
      if (state !== undefined) await this.#attach(rule, state)
    }
  }

  // The market of a book, `venue:key`, or of a market's own name, `venue/market`.
  async #marketOf(name: string): Promise<{ venue: VenueId; id: string } | undefined> {
    const [, venue, mark, key] = /^(\w+)([:/])(.+)$/.exec(name) ?? []
    if (key === undefined) return undefined
    const ref = { venue: venue as VenueId, key }
    const id = mark === '/' ? key : await this.#options.context.store.marketOf(ref)
    return id === undefined ? undefined : { venue: ref.venue, id }
  }

  async #scanFamilies(): Promise<void> {
    for (const rule of this.#families) {
      await this.#try(rule.alert.id, () => this.#scanFamily(rule))
    }
  }

  // Attaches the markets of a family that were open since the last look.
  async #scanFamily(rule: LoadedRule): Promise<void> {
    const { alerts, context } = this.#options
    const { alert } = rule
    if (!isFamily(alert.rule)) return
    const { venue, asset, window, series } = alert.rule.scope
    const now = context.now()
    const start = alerts.scanned(alert.id) - BACK_MICROS
    let after: { openTime: number; venue: string; marketId: string } | undefined
    for (;;) {
      const query = { venue, asset, window, series, start, end: now, after, limit: PAGE }
      const { markets, hasMore } = await context.store.markets(query)
      for (const market of markets) await this.#attach(rule, market)
      const last = markets.at(-1)
      if (!hasMore || last === undefined) break
      after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
    }
    alerts.setScanned(alert.id, now)
  }

  async #attach(rule: LoadedRule, { record }: MarketState): Promise<readonly Watch[]> {
    const { alert, grant } = rule
    if (alert.rule.kind === 'edge' || !isWatched(alert.rule.scope, grant, record)) return []
    const added: Watch[] = []
    for (const watch of await watchesOf(this.#options.context, alert, record)) {
      if (await this.#open(rule, watch)) added.push(watch)
    }
    return added
  }

  async #open(rule: LoadedRule, watch: NewWatch): Promise<boolean> {
    if (rule.watches.has(watch.name)) return false
    const { alert } = rule
    const stored = this.#options.alerts.watch(alert.id, watch.name)
    if (stored?.isOver === true) return false
    await watch.open(stored?.state, alert.created)
    rule.watches.set(watch.name, watch)
    this.#unsaved.add(watch)
    for (const [table, names] of this.#tables(watch)) {
      for (const name of names) {
        const set = table.get(name) ?? new Set()
        table.set(name, set.add(watch))
      }
    }
    return true
  }

  #leave(watch: Watch): void {
    this.#unsaved.delete(watch)
    for (const [table, names] of this.#tables(watch)) {
      for (const name of names) {
        const set = table.get(name)
        set?.delete(watch)
        if (set?.size === 0) table.delete(name)
      }
    }
  }

  #tables(watch: Watch): readonly (readonly [Map<string, Set<Watch>>, readonly string[]])[] {
    return [
      [this.#byBook, watch.books],
      [this.#byMarket, watch.markets],
      [this.#byVenue, watch.venues],
    ]
  }

  async #tidy(): Promise<void> {
    for (const rule of this.#rules.values()) {
      await this.#try(rule.alert.id, () => this.#tidyRule(rule))
    }
  }

  async #tidyRule(rule: LoadedRule): Promise<void> {
    const { alerts, context } = this.#options
    const { alert, grant, watches } = rule
    if (isFamily(alert.rule)) alerts.setScanned(alert.id, context.now())
    for (const watch of watches.values()) {
      if (watch.isOver || (isFamily(alert.rule) && (await this.#hasEnded(watch)))) {
        watches.delete(watch.name)
        this.#leave(watch)
        this.#save([{ ...toStep(watch, []), isOver: true }])
      }
    }
    if (alert.rule.kind !== 'edge') return
    // A venue may list its market of the contract later.
    for (const fresh of await commonWatchesOf(context, grant, alert)) {
      const old = watches.get(fresh.name)
      if (old === undefined || old.books.join() === fresh.books.join()) continue
      await fresh.open(old.state(), context.now())
      this.#leave(old)
      watches.delete(old.name)
      this.#save([toStep(fresh, [])])
      await this.#open(rule, fresh)
    }
  }

  // A market of a family is left when it has ended, and its last rows were read.
  async #hasEnded(watch: Watch): Promise<boolean> {
    const [name = ''] = watch.markets.length > 0 ? watch.markets : watch.books
    const market = await this.#marketOf(name)
    if (market === undefined) return false
    const state = await this.#options.context.store.market(market.venue, market.id)
    const isPast = (state?.knownAt ?? Infinity) < this.#options.context.now() - BACK_MICROS
    return isPast && isLastStatus(state?.record.status ?? '')
  }

  #unload(ruleId: string): void {
    for (const watch of this.#rules.get(ruleId)?.watches.values() ?? []) this.#leave(watch)
    this.#rules.delete(ruleId)
    this.#families = this.#families.filter(({ alert }) => alert.id !== ruleId)
  }

  // A rule whose work failed is loaded again later.
  async #try(ruleId: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#unload(ruleId)
      // A contract may be gone, or not be in the plan any more.
      if (!(error instanceof Problem)) this.#options.onError(error, { alert: ruleId })
    }
  }
}

function isSamePlan({ terms }: PlanGrant, { terms: others }: PlanGrant): boolean {
  return JSON.stringify(terms) === JSON.stringify(others)
}

function toStep(watch: Watch, events: readonly NewEvent[]): WatchStep {
  const { ruleId, name, isOver } = watch
  return { ruleId, name, state: watch.state(), events, isOver }
}
