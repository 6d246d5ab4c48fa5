import { instrumentName, type Instrument } from '@priorbook/sdk/domain'
import type { ResumePoints, Subscription } from '../../live/subscription.ts'
import type { PlanGrant } from '../auth/grant.ts'
import type { ClientOutput } from './client-output.ts'
import { StreamProblem, type SubscriptionChoice } from './request.ts'
import { RowStyle } from './row-style.ts'
import type { FindSelection, Selection } from './select-markets.ts'
import type { SessionServices } from './services.ts'

/** Max rows that a connection may have sent again, of books and trades and of reference prices each. */
export const RESUME_ROWS = 100_000

/** The subscriptions of one connection. */
export class Subscriptions {
  private readonly services: SessionServices
  private readonly output: ClientOutput
  private readonly open = new Map<string, Subscription>()
  /** Instruments of markets that were over when the client came back: the first to make room for others. */
  private readonly late = new Set<string>()
  private readonly resumeBudget = { rows: RESUME_ROWS }
  private isClosed = false

  constructor(services: SessionServices, output: ClientOutput) {
    this.services = services
    this.output = output
  }

  /** How many subscriptions are open. */
  get size(): number {
    return this.open.size
  }

  has(id: string): boolean {
    return this.open.has(id)
  }

  /** Opens a subscription and starts to send its rows; throws `Problem` or `StreamProblem`. */
  async subscribe(
    request: SubscriptionChoice,
    grant: PlanGrant,
    find: FindSelection,
  ): Promise<void> {
    const { hub, context } = this.services
    const { id, resume } = request
    const { terms } = grant
    const since = context.now()
    const most = terms.stream.instruments - this.instrumentCount
    const known = new Set([...resume.books.keys(), ...resume.trades.keys()])
    const selection = await find(context, grant, known, most)
    if (this.isClosed) return
    if (selection.instruments.length > most) throw tooManyInstruments(grant)
    const late = this.makeRoomFor(selection, grant)
    this.requireNotSubscribed(selection.instruments)
    const subscription = this.create(request, grant, selection, since)
    for (const name of late.map(instrumentName)) {
      subscription.pending.add(name)
      this.late.add(name)
    }
    this.open.set(id, subscription)
    try {
      await hub.subscribe(subscription, () => {
        if (this.isClosed) return
        this.output.send({
          type: 'subscribed',
          id,
          ...selection.about,
          markets: selection.markets.length,
          instruments: selection.instruments.length,
          ...(selection.notice === undefined ? {} : { notice: selection.notice }),
        })
      })
    } catch (error) {
      this.end(id, subscription)
      throw error
    }
    if (this.isClosed) {
      // The client has left meanwhile, and `close` ran before the hub knew the subscription.
      hub.unsubscribe(subscription)
      return
    }
    // The next request does not wait for the snapshots, which are sent as fast as they are read.
    this.start(request, grant, subscription, selection, late).catch((error: unknown) => {
      this.end(id, subscription)
      this.output.sendError(error, id)
    })
  }

  /** Ends a subscription; throws `unknown_id`. */
  unsubscribe(id: string): void {
    const subscription = this.open.get(id)
    if (subscription === undefined) throw new StreamProblem('unknown_id')
    this.end(id, subscription)
    this.output.send({ type: 'unsubscribed', id })
  }

  /** Ends all subscriptions. */
  close(): void {
    this.isClosed = true
    for (const [id, subscription] of this.open) this.end(id, subscription)
  }

  private create(
    request: SubscriptionChoice,
    grant: PlanGrant,
    { venues, instruments, wants, newsOf }: Selection,
    since: number,
  ): Subscription {
    const { id, datasets } = request
    let hasRefused = false
    return {
      subscriber: this.output.subscriber,
      venues: new Set(venues),
      style: new RowStyle(request),
      datasets,
      since,
      wants,
      admits: (name) => {
        if (this.idOf(name) !== undefined) return false
        if (this.makeRoom(grant)) return true
        if (!hasRefused) this.output.sendError(tooManyInstruments(grant), id)
        hasRefused = true
        return false
      },
      onJoin: async (record) => {
        const news = await newsOf?.(record)
        if (news !== undefined && this.open.has(id)) this.output.send(news)
      },
      onRelease: (name) => void this.late.delete(name),
      pending: new Set(instruments.map(instrumentName)),
      attached: new Set(),
    }
  }

  private async start(
    { id, datasets, resume }: SubscriptionChoice,
    grant: PlanGrant,
    subscription: Subscription,
    { markets, instruments }: Selection,
    late: readonly Instrument[],
  ): Promise<void> {
    const { hub, context } = this.services
    const start = grant.windowStart(context.now())
    const { subscriber } = this.output
    for (const { record } of datasets.has('markets') ? markets : []) {
      const market = await hub.marketRecord(record.venue, record.marketId)
      if (!hub.has(subscription) || market === undefined) continue
      subscriber.send(subscription.style.market(market))
      await subscriber.room()
    }
    const points = { ...resume, start, budget: this.resumeBudget }
    await hub.start(subscription, instruments, points)
    await this.startLate(subscription, late, points)
    if (hub.has(subscription)) this.output.send({ type: 'snapshots_done', id })
    subscriber.flush()
  }

  // What a client missed of markets that are over.
  private async startLate(
    subscription: Subscription,
    instruments: readonly Instrument[],
    points: ResumePoints,
  ): Promise<void> {
    const { hub } = this.services
    for (const instrument of instruments) {
      const name = instrumentName(instrument)
      if (!hub.has(subscription)) return
      if (!this.late.has(name)) continue
      await hub.start(subscription, [instrument], points)
      // Others needed the room meanwhile.
      if (!this.late.has(name)) hub.release(subscription, name)
    }
  }

  /** Releases late instruments that a selection needs the room of, and gives those of it that have room. */
  private makeRoomFor({ instruments, over }: Selection, { terms }: PlanGrant): Instrument[] {
    for (const name of instruments.map(instrumentName)) if (this.late.has(name)) this.release(name)
    const most = terms.stream.instruments - this.instrumentCount - instruments.length
    for (const name of this.late) if (this.late.size > most) this.release(name)
    return over
      .filter((instrument) => this.idOf(instrumentName(instrument)) === undefined)
      .slice(0, Math.max(0, most - this.late.size))
  }

  private release(late: string): void {
    this.late.delete(late)
    for (const subscription of this.open.values()) {
      subscription.pending.delete(late)
      this.services.hub.release(subscription, late)
    }
  }

  private end(id: string, subscription: Subscription): void {
    if (this.open.get(id) === subscription) this.open.delete(id)
    const { attached, pending } = subscription
    for (const name of [...attached, ...pending]) this.late.delete(name)
    this.services.hub.unsubscribe(subscription)
  }

  /** True when one more instrument is allowed, if need be after those of ended markets were detached. */
  private makeRoom({ terms }: PlanGrant): boolean {
    if (this.instrumentCount + this.late.size < terms.stream.instruments) return true
    for (const name of this.late) this.release(name)
    for (const one of this.open.values()) this.services.hub.detachEnded(one)
    return this.instrumentCount < terms.stream.instruments
  }

  /** The instruments that count for the plan. */
  private get instrumentCount(): number {
    let count = -this.late.size
    for (const { attached, pending } of this.open.values()) count += attached.size + pending.size
    return count
  }

  private requireNotSubscribed(instruments: readonly Instrument[]): void {
    for (const name of instruments.map(instrumentName)) {
      const other = this.idOf(name)
      if (other === undefined) continue
      const detail = `${name} is in the subscription ${JSON.stringify(other)}`
      throw new StreamProblem('already_subscribed', detail)
    }
  }

  /** The id of the subscription that has an instrument. */
  private idOf(instrument: string): string | undefined {
    for (const [id, { attached, pending }] of this.open) {
      if (pending.has(instrument) || attached.has(instrument)) return id
    }
    return undefined
  }
}

function tooManyInstruments({ plan, terms }: PlanGrant): StreamProblem {
  return new StreamProblem(
    'too_many_instruments',
    `the plan ${plan} allows ${terms.stream.instruments} instruments per connection`,
    'Choose a smaller family, or open another connection.',
  )
}
