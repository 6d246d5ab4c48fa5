import type { Gap, VenueId } from '@priorbook/sdk/domain'

// Gaps of one name that are remembered after they closed, so that none is told twice.
const REMEMBERED = 256

/** Which gaps have been told, by what they are about: `venue/key`. */
export class GapBoard {
  private readonly told = new Map<string, Map<string, number | undefined>>()

  /** True when a gap was not told as it is. */
  isNew(gap: Gap): boolean {
    const places = this.told.get(gapName(gap.venue, gap.key))
    const place = placeOf(gap)
    return places?.has(place) !== true || places.get(place) !== gap.end
  }

  /** True when a gap was told, as it is or as it was. */
  has(gap: Gap): boolean {
    return this.told.get(gapName(gap.venue, gap.key))?.has(placeOf(gap)) === true
  }

  /** Takes a gap that is told; false when it was told as it is. */
  take(gap: Gap): boolean {
    if (!this.isNew(gap)) return false
    const name = gapName(gap.venue, gap.key)
    let places = this.told.get(name)
    if (places === undefined) this.told.set(name, (places = new Map()))
    const place = placeOf(gap)
    places.delete(place)
    places.set(place, gap.end)
    if (places.size > REMEMBERED) {
      const old = [...places].find(([, end]) => end !== undefined)
      places.delete(old?.[0] ?? places.keys().next().value!)
    }
    return true
  }

  /** True when gaps of a name were taken before, or the name was begun. */
  follows(venue: VenueId, key: string): boolean {
    return this.told.has(gapName(venue, key))
  }

  /** Begins a name, also where it has no gaps. */
  begin(venue: VenueId, key: string): void {
    const name = gapName(venue, key)
    if (!this.told.has(name)) this.told.set(name, new Map())
  }

  /** Forgets what nobody reads any more. */
  forget(venue: VenueId, key: string): void {
    this.told.delete(gapName(venue, key))
  }

  /** Forgets everything. */
  clear(): void {
    this.told.clear()
  }
}

function placeOf({ start, afterSequence, reason, scope }: Gap): string {
  return `${start}/${afterSequence}/${reason}/${scope}`
}

/** The name of what gaps are about. */
export function gapName(venue: VenueId, key: string): string {
  return `${venue}/${key}`
}
