import type { DeclaredGap, ListedMarket, ServedReader, ServedRows } from './served-rows.ts'

/** What was seen while the recorder ran, held against what is served at the end. */
export type FoldResult = {
  readonly markets: number
  readonly rows: number
  /** Rows that were seen and are served no more, and the instruments that they belong to. */
  readonly lostRows: number
  readonly holes: number
  /** Holes inside a declared gap, the same in `/v3/gaps`, coverage and the market's pages. */
  readonly declared: number
  /** Markets that are not listed any more; the notice of the list says so. */
  readonly removedMarkets: number
  readonly complaints: readonly string[]
}

type Seen = { readonly market: ListedMarket; readonly rows: Map<string, ServedRows> }

/** Remembers rows as a client saw them, and finds out which are gone. Knows nothing of the recorder. */
export class Fold {
  readonly complaints: string[] = []
  readonly #seen = new Map<string, Seen>()

  /** Reads all rows of a market and adds those that are new. */
  async look(reader: ServedReader, market: ListedMarket): Promise<void> {
    const found = await reader.rowsOf(market)
    if (found === undefined) return
    const name = `${market.venue}:${market.market_id}`
    let seen = this.#seen.get(name)
    if (seen === undefined) this.#seen.set(name, (seen = { market, rows: new Map() }))
    for (const [key, served] of found.rows) {
      this.#checkOrder(name, key, served, found.gaps)
      let known = seen.rows.get(key)
      if (known === undefined) seen.rows.set(key, (known = { sequences: [], times: [] }))
      const last = known.sequences.at(-1) ?? 0
      for (const [index, sequence] of served.sequences.entries()) {
        if (sequence <= last) continue
        known.sequences.push(sequence)
        known.times.push(served.times[index]!)
      }
    }
  }

  /** Compares everything seen with what is served now; nothing may change meanwhile. */
  async judge(reader: ServedReader): Promise<FoldResult> {
    const sum = { rows: 0, lostRows: 0, holes: 0, declared: 0, removedMarkets: 0 }
    const removed = await reader.noticeOf('markets_removed')
    const removedBefore = Date.parse(String(removed?.['removed_before'])) * 1000
    for (const [name, { market, rows }] of this.#seen) {
      for (const { sequences } of rows.values()) sum.rows += sequences.length
      const now = await reader.rowsOf(market)
      if (now === undefined) {
        sum.removedMarkets++
        if (!((market.close_time ?? 0) < removedBefore)) {
          this.complaints.push(`${name} is not listed, and no notice says why`)
        }
        continue
      }
      const { listed, covered } = await reader.gapsOf(market)
      for (const [key, seen] of rows) {
        const served = now.rows.get(key) ?? { sequences: [], times: [] }
        this.#checkOrder(name, key, served, [])
        const lost = lostTimes(seen, served)
        const isOf = (gap: DeclaredGap): boolean => gap.key === key && gap.reason === 'retention'
        const gap = listed.find(isOf)
        this.#checkServed(key, served, gap)
        if (lost.length === 0) continue
        sum.lostRows += lost.length
        sum.holes++
        if (this.#isDeclared(key, lost, gap, [now.gaps.find(isOf), covered.find(isOf)])) {
          sum.declared++
        }
      }
    }
    return { markets: this.#seen.size, ...sum, complaints: this.complaints }
  }

  #isDeclared(
    key: string,
    lost: readonly number[],
    gap: DeclaredGap | undefined,
    others: readonly (DeclaredGap | undefined)[],
  ): boolean {
    if (gap === undefined) {
      this.complaints.push(`${key}: ${lost.length} rows are gone without a gap`)
      return false
    }
    const isInside = lost.every((time) => time >= gap.start_time && time < (gap.end_time ?? 0))
    if (!isInside) this.complaints.push(`${key}: rows outside its gap are gone`)
    const areSame = others.every(
      (other) => other?.start_time === gap.start_time && other.end_time === gap.end_time,
    )
    if (!areSame) {
      this.complaints.push(`${key}: page, coverage and /v3/gaps tell other bounds of its gap`)
    }
    return isInside && areSame
  }

  #checkServed(key: string, { times }: ServedRows, gap: DeclaredGap | undefined): void {
    if (gap === undefined) return
    const inside = times.filter((time) => time >= gap.start_time && time < (gap.end_time ?? 0))
    // The row after the last removed one may have come in the same microsecond.
    if (inside.some((time) => time < (gap.end_time ?? 0) - 1)) {
      this.complaints.push(`${key}: ${inside.length} rows are served inside its gap`)
    }
  }

  // Rows may be removed between two pages of a walk: then the second one says so.
  #checkOrder(
    name: string,
    key: string,
    { sequences, times }: ServedRows,
    gaps: readonly DeclaredGap[],
  ): void {
    for (let row = 1; row < sequences.length; row++) {
      const [before, after] = [times[row - 1]!, times[row]!]
      const isTold = gaps.some(
        (gap) =>
          gap.key === key &&
          gap.reason === 'retention' &&
          gap.start_time <= before &&
          (gap.end_time ?? Infinity) > before &&
          (gap.end_time ?? Infinity) <= after + 1,
      )
      const isNext = sequences[row] === sequences[row - 1]! + 1
      if (after < before || (!isNext && !isTold)) {
        this.complaints.push(`${name} ${key}: row ${sequences[row]} does not follow`)
        return
      }
    }
  }
}

function lostTimes(seen: ServedRows, served: ServedRows): number[] {
  const [first = Infinity] = served.sequences
  const last = served.sequences.at(-1) ?? 0
  return seen.times.filter((_, index) => {
    const sequence = seen.sequences[index]!
    return sequence < first || sequence > last
  })
}
