import type { MarketRecord } from '@priorbook/sdk/domain'
import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { BlockRange } from './requests.ts'
import type { TokenPlace } from './to-trade.ts'

// Markets of a month, and tokens of other markets of the exchange.
const MAX_TOKENS = 200_000
const MAX_UNKNOWN = 50_000

/** Knows which market and outcome a token stands for, and where tokens without a market traded. */
export class Tokens {
  readonly #assets: ReadonlySet<string>
  readonly #places = new BoundedMap<string, TokenPlace>(MAX_TOKENS)
  readonly #unknown = new BoundedMap<string, BlockRange>(MAX_UNKNOWN)
  /** Tokens that traded before their market was known. */
  readonly #late = new Map<string, BlockRange & { readonly place: TokenPlace }>()

  constructor(assets: readonly string[]) {
    this.#assets = new Set(assets)
  }

  /** Adds the tokens of a market; one of another asset is not recorded. */
  add({ marketId: market, outcomes, asset }: MarketRecord): void {
    if (asset === undefined || !this.#assets.has(asset)) return
    for (const { tokenId, index: outcome } of outcomes) {
      if (tokenId === undefined || this.#places.get(tokenId) !== undefined) continue
      const place = { market, outcome }
      this.#places.set(tokenId, place)
      const range = this.#unknown.get(tokenId)
      if (range === undefined) continue
      this.#unknown.delete(tokenId)
      this.#late.set(tokenId, { ...range, place })
    }
  }

  /** The place of a token that traded in a block; remembers one that is not known. */
  find(token: string, block: number): TokenPlace | undefined {
    const place = this.#places.get(token)
    if (place !== undefined) return place
    const { from, to } = this.#unknown.get(token) ?? { from: block, to: block }
    this.#unknown.set(token, { from: Math.min(from, block), to: Math.max(to, block) })
    return undefined
  }

  /** The next token that traded before its market was known. */
  get late(): (BlockRange & { readonly token: string; readonly place: TokenPlace }) | undefined {
    const [first] = this.#late
    return first === undefined ? undefined : { token: first[0], ...first[1] }
  }

  /** The blocks of a late token were read again up to a block. */
  caughtUp(token: string, block: number): void {
    const late = this.#late.get(token)
    if (late === undefined) return
    if (block >= late.to) this.#late.delete(token)
    else this.#late.set(token, { ...late, from: block + 1 })
  }
}
