import { gapId, parseReferenceKey, VENUES, type Gap, type Reference } from '../domain/index.ts'
import type { ReferenceEvent } from '../replay/index.ts'
import type { ReferenceGapView, ReferenceView } from './strategy.ts'

/** The reference prices as of now: the last one that was received of each series, unless a gap began since. */
export class References {
  /** By feed, then by asset. */
  private readonly known = new Map<string, Map<string, ReferenceView>>()
  private readonly lostBy = new Map<string, readonly Reference[]>()

  /** Notes a price and gives it as strategies see it. */
  apply({ venue, feed, asset, price, at, source, sequence }: ReferenceEvent): ReferenceView {
    const view: ReferenceView = Object.freeze({
      asset,
      feed,
      price: Number(price),
      exact: price,
      time: at,
      sourceTime: source,
      id: `${venue}:reference/${feed}/${asset}/price:${sequence}`,
    })
    const own = this.known.get(feed) ?? new Map<string, ReferenceView>()
    own.set(asset, view)
    this.known.set(feed, own)
    return view
  }

  /** A gap begins or ends: what strategies hear of it, by the series that it concerns. */
  views(gap: Gap, edge: 'open' | 'close'): readonly ReferenceGapView[] {
    const { reason, start } = gap
    const concerned = edge === 'open' ? this.lose(gap) : this.regain(gap)
    return concerned.map(({ asset, feed }) => Object.freeze({ asset, feed, edge, reason, start }))
  }

  // What a gap concerns is not known until the next price.
  private lose(gap: Gap): readonly Reference[] {
    const lost = this.concernedBy(gap)
    for (const { feed, asset } of lost) this.known.get(feed)?.delete(asset)
    if (lost.length > 0) this.lostBy.set(gapId(gap), lost)
    return lost
  }

  private regain(gap: Gap): readonly Reference[] {
    const id = gapId(gap)
    const lost = this.lostBy.get(id) ?? []
    this.lostBy.delete(id)
    return lost
  }

  /** The price of an asset by one feed; without a name by the first feed that has one, in the venues' order. */
  find(asset: string, feed: string | undefined): ReferenceView | undefined {
    const name = asset.toUpperCase()
    if (feed !== undefined) return this.known.get(feed)?.get(name)
    for (const { references } of Object.values(VENUES)) {
      for (const one of references) {
        const view = this.known.get(one.feed)?.get(name)
        if (view !== undefined) return view
      }
    }
    return undefined
  }

  // A gap of a whole venue concerns the series that had a price.
  private concernedBy({ venue, scope, key }: Gap): readonly Reference[] {
    const reference = parseReferenceKey(key)
    if (reference !== undefined) return [reference]
    if (scope !== 'venue') return []
    return VENUES[venue].references.flatMap(({ feed }) =>
      [...(this.known.get(feed)?.keys() ?? [])].map((asset) => ({ feed, asset })),
    )
  }
}
