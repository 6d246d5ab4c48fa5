import { attempt } from '../attempt.ts'
import { decodeOrderFilled } from './order-filled.ts'
import type { BlockRange, Reorganized } from './requests.ts'
import { readEvent, readEvents } from './rpc-values.ts'
import { isSumOfMatch, readExchanged, toTradeId, type TokenPlace } from './to-trade.ts'

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

/** Max trades whose ids are kept, to name those that a reorganization removed. */
const KEPT = 10_000

/** The trades that were read lately, by block. */
export class RecentTrades {
  #trades: { readonly block: number; readonly id: string }[] = []
  /** The first block from which on all trades are here. */
  #from: number | undefined

  /** Adds the trades of a range; those of replaced blocks are forgotten. */
  add({ range, trades }: ReadFills, reorganized: Reorganized | undefined): void {
    if (reorganized !== undefined) {
      this.#trades = this.#trades.filter(({ block }) => block < reorganized.from)
    }
    this.#from ??= range.from
    this.#trades.push(...trades)
    if (this.#trades.length <= KEPT) return
    this.#trades = this.#trades.slice(-KEPT / 2)
    this.#from = this.#trades[0]!.block + 1
  }

  /** The trades of replaced blocks that are not among those read in their place, if all were. */
  removedBy({ range, trades }: ReadFills, reorganized: Reorganized | undefined): string[] {
    if (reorganized === undefined || this.#from === undefined) return []
    const isWhole = this.#from <= reorganized.from && range.to >= reorganized.to
    if (!isWhole) return []
    const ids = new Set(trades.map(({ id }) => id))
    const replaced = this.#trades.filter(({ block }) => block >= reorganized.from)
    return replaced.flatMap(({ id }) => (ids.has(id) ? [] : [id]))
  }
}
