import { parseReferenceKey, VENUES, type Gap } from '../domain/index.ts'
import type { ReferenceEvent } from '../replay/index.ts'
import type { ReferenceView } from './strategy.ts'

/** The reference prices as of now: the last one that was received of each series, unless a gap began since. */
export class References {
  /** By feed, then by asset. */
  private readonly known = new Map<string, Map<string, ReferenceView>>()

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

  /** A gap begins: what it concerns is not known until the next price. */
  lose({ venue, scope, key }: Gap): void {
    const reference = parseReferenceKey(key)
    if (reference !== undefined) this.known.get(reference.feed)?.delete(reference.asset)
    if (scope !== 'venue') return
    for (const { feed } of VENUES[venue].references) this.known.delete(feed)
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
}
