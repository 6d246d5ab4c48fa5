import type { Emulator } from '../../packages/emulator/src/emulator.ts'

/** A trade as the raw event on the chain says it, in terms of the first outcome of its market. */
export type ChainTrade = {
  readonly id: string
  readonly block: number
  /** Whole seconds since 1970. */
  readonly time: number
  readonly market: string
  readonly outcome: number
  readonly taker: 'buy' | 'sell'
  /** Collateral and shares, in wei. */
  readonly collateral: bigint
  readonly shares: bigint
}

type RawLog = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockNumber: string
  readonly transactionHash: string
  readonly logIndex: string
}

/** Calls the emulated chain. */
export async function callChain(emulator: Emulator, method: string, params: unknown = []) {
  const answer = await fetch(emulator.addresses.venuea!.chain, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { result?: unknown; error?: object }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}

/** The newest block of the emulated chain. */
export async function headOf(emulator: Emulator): Promise<number> {
  return Number(await callChain(emulator, 'eth_blockNumber'))
}

/**
 * The trades of blocks [from, to], read from the words of the events' data by their places. Nothing of
 * the service's decoder is used; which market a token belongs to is read from the venue's raw answers.
 */
export async function readChainTrades(
  emulator: Emulator,
  from: number,
  to: number,
): Promise<Map<string, ChainTrade>> {
  const tokens = tokensOf(emulator)
  const trades = new Map<string, ChainTrade>()
  for (let block = from; block <= to; block++) {
    const hex = `0x${block.toString(16)}`
    let logs: RawLog[]
    try {
      logs = (await callChain(emulator, 'eth_getLogs', [
        { fromBlock: hex, toBlock: hex },
      ])) as RawLog[]
    } catch {
      // A block that a fault made unreadable.
      continue
    }
    if (logs.length === 0) continue
    const head = (await callChain(emulator, 'eth_getBlockByNumber', [hex, false])) as {
      timestamp: string
    }
    for (const log of logs) {
      const trade = toTrade(log, tokens, Number(head.timestamp))
      if (trade !== undefined) trades.set(trade.id, trade)
    }
  }
  return trades
}

const ORDER_FILLED = /^0xd0a08e8c/
const WORD = 64

function toTrade(
  log: RawLog,
  tokens: ReadonlyMap<string, { market: string; outcome: number }>,
  time: number,
): ChainTrade | undefined {
  if (!ORDER_FILLED.test(log.topics[0]!)) return undefined
  const counterparty = `0x${log.topics[3]!.slice(-40)}`
  if (counterparty === log.address) return undefined
  const word = (at: number): bigint =>
    BigInt(`0x${log.data.slice(2 + at * WORD, 2 + (at + 1) * WORD)}`)
  const [gives, gets, gave, got] = [word(0), word(1), word(2), word(3)]
  const makerBuys = gives === 0n
  const place = tokens.get((makerBuys ? gets : gives).toString())
  if (place === undefined) return undefined
  const takerBuysToken = !makerBuys
  return {
    id: `${log.transactionHash}-${Number(log.logIndex)}`,
    block: Number(log.blockNumber),
    time,
    ...place,
    taker: takerBuysToken === (place.outcome === 0) ? 'buy' : 'sell',
    collateral: makerBuys ? gave : got,
    shares: makerBuys ? got : gave,
  }
}

type Topic = {
  readonly markets: readonly {
    readonly marketId: number
    readonly outcomes: readonly { readonly index: number; readonly tokenId: string }[]
  }[]
}

// From the raw texts of the venue's catalogue, as the emulator logged them.
function tokensOf(emulator: Emulator): Map<string, { market: string; outcome: number }> {
  const tokens = new Map<string, { market: string; outcome: number }>()
  for (const entry of emulator.truth.entries) {
    if (entry.type !== 'answer' || entry.text === undefined || entry.status !== 200) continue
    if (!/\/market\/(list|detail)$/.test(entry.path)) continue
    const value = JSON.parse(entry.text) as Topic & { readonly marketTopics?: readonly Topic[] }
    for (const topic of value.marketTopics ?? [value]) {
      for (const { marketId, outcomes } of topic.markets) {
        for (const { index, tokenId } of outcomes) {
          tokens.set(tokenId, { market: String(marketId), outcome: index })
        }
      }
    }
  }
  return tokens
}
