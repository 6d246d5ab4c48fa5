import { attempt } from '../attempt.ts'
import { decodeOrderFilled } from './order-filled.ts'
import type { BlockRange, Reorganized } from './requests.ts'
import { readEvent, readEvents } from './rpc-values.ts'
import { isSumOfMatch, readExchanged, toMovedId, toTradeId, type TokenPlace } from './to-trade.ts'

/** What must be known to derive the trades of an answer. */
export type ReadFills = {
  readonly range: BlockRange
  /** The tokens of recorded markets in it. */
  readonly tokens: ReadonlyMap<string, TokenPlace>
  /** The blocks with trades of these tokens: the hash that the events name, and the time if they do. */
  readonly blocks: ReadonlyMap<number, { readonly hash: string; readonly time: number | undefined }>
  readonly trades: readonly { readonly block: number; readonly id: string }[]
}

/** Looks through the events of an answer; the normalizer reports those that cannot be read. */
export function readFills(
  result: unknown,
  range: BlockRange,
  find: (token: string, block: number) => TokenPlace | undefined,
): ReadFills {
  const tokens = new Map<string, TokenPlace>()
  const blocks = new Map<number, { hash: string; time: number | undefined }>()
  const trades: { block: number; id: string }[] = []
  for (const item of readEvents(result)) {
    const found = attempt(() => {
      const log = readEvent(item)
      if (log.block < range.from || log.block > range.to) return undefined
      const filled = decodeOrderFilled(log)
      if (log.isRemoved || isSumOfMatch(filled, log)) return undefined
      const exchanged = readExchanged(filled)
      return exchanged === undefined ? undefined : { log, token: String(exchanged.token) }
    })
    const place = found === undefined ? undefined : find(found.token, found.log.block)
    if (found === undefined || place === undefined) continue
    const { log, token } = found
    tokens.set(token, place)
    blocks.set(log.block, { hash: log.blockHash, time: log.time })
    trades.push({ block: log.block, id: toTradeId(log) })
  }
  return { range, tokens, blocks, trades }
}

/** Max trades whose ids are kept, to tell what a reorganization did to them. */
const KEPT = 10_000

type Fill = { readonly block: number; readonly id: string }

/** The trades that were read lately, and those of them whose blocks were replaced. */
export class RecentTrades {
  #trades: Fill[] = []
  /** The first block from which on all trades are here. */
  #from: number | undefined
  /** Trades of replaced blocks that no gap has named yet. */
  #unnamed: Fill[] = []
  /** The block in which a trade was read first, for trades of replaced blocks. */
  readonly #replaced = new Map<string, number>()

  /** The blocks from this one on were replaced. */
  replace(from: number): void {
    for (const trade of this.#trades) {
      if (trade.block < from) continue
      this.#unnamed.push(trade)
      if (!this.#replaced.has(trade.id)) this.#replaced.set(trade.id, trade.block)
    }
    this.#trades = this.#trades.filter(({ block }) => block < from)
    for (const oldest of this.#replaced.keys()) {
      if (this.#replaced.size <= KEPT) break
      this.#replaced.delete(oldest)
    }
  }

  /** Those trades of an answer that were read before, in another block that was replaced. */
  movedIn({ trades }: ReadFills): Set<string> {
    const isMoved = ({ block, id }: Fill): boolean => (this.#replaced.get(id) ?? block) !== block
    return new Set(trades.filter(isMoved).map(({ id }) => id))
  }

  /** The rows of replaced blocks that are not in the blocks read in their place, if all were read. */
  removedBy({ range, trades }: ReadFills, reorganized: Reorganized | undefined): string[] {
    if (reorganized === undefined || this.#from === undefined) return []
    const isWhole = this.#from <= reorganized.from && range.to >= reorganized.to
    if (!isWhole) return []
    const rows = new Set(trades.map((trade) => this.#rowId(trade)))
    return this.#unnamed.map((trade) => this.#rowId(trade)).filter((id) => !rows.has(id))
  }

  /** Adds the trades of an answer; what it replaced has been named. */
  add({ range, trades }: ReadFills): void {
    this.#unnamed = []
    this.#from ??= range.from
    this.#trades.push(...trades)
    if (this.#trades.length <= KEPT) return
    this.#trades = this.#trades.slice(-KEPT / 2)
    this.#from = this.#trades[0]!.block + 1
  }

  #rowId({ block, id }: Fill): string {
    return (this.#replaced.get(id) ?? block) === block ? id : toMovedId(id, block)
  }
}
