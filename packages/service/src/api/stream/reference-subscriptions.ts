import {
  parseReferenceKey,
  REFERENCE_MARKET,
  type Gap,
  type Instrument,
} from '@priorbook/sdk/domain'
import type { SampleColumns } from '@priorbook/sdk/tape'
import {
  referenceFeed,
  toGapJson,
  toReferenceJson,
  type ReferenceContext,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { ReferenceSubscription } from '../../live/reference-hub.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { findReferences } from '../markets/references.ts'
import type { ClientOutput } from './client-output.ts'
import { toFrame } from './frame.ts'
import { StreamProblem, type ReferenceRequest } from './request.ts'
import type { SessionServices } from './services.ts'
import { RESUME_ROWS } from './subscriptions.ts'

/** The subscriptions of one connection to reference prices. */
export class ReferenceSubscriptions {
  private readonly services: SessionServices
  private readonly output: ClientOutput
  private readonly open = new Map<string, ReferenceSubscription>()
  private readonly budget = { rows: RESUME_ROWS }

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

  /** Opens a subscription; throws `Problem` for assets that are not recorded or not in the plan. */
  async subscribe(request: ReferenceRequest, grant: PlanGrant): Promise<void> {
    const { references, context } = this.services
    const { id, feed } = request
    const { asset, series } = await findReferences(context, grant, request.asset, feed)
    const wants = ({ venue, key }: Instrument): boolean => {
      const reference = parseReferenceKey(key)
      const isMeant = reference?.asset === asset && (feed === undefined || reference.feed === feed)
      return isMeant && grant.allows(venue, asset)
    }
    const [first] = series
    for (const { key } of series) this.requireNotSubscribed(key, first.venue)
    const style = toStyle(request.style)
    const { subscriber } = this.output
    const { budget } = this
    const start = grant.windowStart(context.now())
    const subscription = { subscriber, ...style, wants, resume: request.resume, start, budget }
    this.open.set(id, subscription)
    try {
      await references.subscribe(subscription, (instruments) => {
        const { venue } = first
        this.output.send({ type: 'subscribed', id, venue, markets: 0, instruments })
      })
    } catch (error) {
      this.open.delete(id)
      references.unsubscribe(subscription)
      throw error
    }
    if (this.open.get(id) === subscription) this.output.send({ type: 'snapshots_done', id })
    else references.unsubscribe(subscription)
  }

  /** Ends a subscription; false where there is none of this id. */
  unsubscribe(id: string): boolean {
    const subscription = this.open.get(id)
    if (subscription === undefined) return false
    this.open.delete(id)
    this.services.references.unsubscribe(subscription)
    this.output.send({ type: 'unsubscribed', id })
    return true
  }

  /** Ends all subscriptions. */
  close(): void {
    const all = [...this.open.values()]
    this.open.clear()
    for (const subscription of all) this.services.references.unsubscribe(subscription)
  }

  private requireNotSubscribed(key: string, venue: Instrument['venue']): void {
    for (const [id, subscription] of this.open) {
      if (!subscription.wants({ venue, market: REFERENCE_MARKET, key })) continue
      const detail = `${key} is in the subscription ${JSON.stringify(id)}`
      throw new StreamProblem('already_subscribed', detail)
    }
  }
}

function toStyle(style: ValueStyle): Pick<ReferenceSubscription, 'price' | 'gap'> {
  return {
    price(
      instrument: Instrument,
      rows: SampleColumns,
      row: number,
      ordinal: number,
      previous: number | null,
    ) {
      const { key } = instrument
      const body = toReferenceJson(rows, row, ordinal, contextOf(instrument), style)
      const names = { type: 'reference', key, sequence: ordinal, previous_sequence: previous }
      return toFrame(JSON.stringify({ ...names, row: body }))
    },
    gap: (gap: Gap) => toFrame(JSON.stringify({ type: 'gap', gap: toGapJson(gap, style) })),
  }
}

function contextOf({ venue, key }: Instrument): ReferenceContext {
  const reference = parseReferenceKey(key)!
  return { venue, key, ...reference, unit: referenceFeed(reference.feed)?.unit ?? '' }
}
