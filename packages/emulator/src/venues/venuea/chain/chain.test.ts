import { beforeEach, describe, expect, it } from 'vitest'
import type { Fill, Proposition } from '../../../core/upstream.ts'
import type { Fault, FaultKind } from '../../../faults/fault.ts'
import { createRounds } from '../rounds.ts'
import { createTestWorld, ladder, type TestWorld } from '../world.testing.ts'
import { createChain, type EmulatedChain } from './index.ts'
import { BLOCK_MS, Ledger } from './ledger.ts'
import { EXCHANGE, ORDER_FILLED } from './match.ts'

type Log = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockNumber: string
  readonly blockHash: string
  readonly transactionHash: string
  readonly logIndex: string
}

describe('the chain of venue A', () => {
  let world: TestWorld
  let chain: EmulatedChain
  let market: Proposition
  let fault: Fault | undefined

  beforeEach(() => {
    world = createTestWorld('venuea')
    const rounds = createRounds(world)
    const strike = (kind: FaultKind) => {
      if (fault?.kind !== kind) return undefined
      const struck = fault
      if (kind === 'chain_reorg') fault = undefined
      return struck as never
    }
    chain = createChain(world, rounds, { strike })
    world.listen((event) => chain.onEvent(event))
    market = world.list()
    world.phase(market, 'open')
    world.change(market, ladder(5_200, 5))
    fault = undefined
  })

  function call(method: string, ...params: unknown[]) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const request = { method: 'POST', path: '/chain', query: new URLSearchParams(), headers: {} }
    const answer = chain.answer({ ...request, body })
    return { status: answer.status, ...(JSON.parse(answer.body) as { result?: unknown }) }
  }

  const head = (): number => Number(call('eth_blockNumber').result)

  function logs(from: number, to = head()): Log[] {
    const filter = { fromBlock: hex(from), toBlock: hex(to) }
    return call('eth_getLogs', { ...filter, address: EXCHANGE, topics: [ORDER_FILLED] })
      .result as Log[]
  }

  function trade(fill: Fill): void {
    world.change(market, [{ side: 'ask', price: fill.price, size: 0 }], fill)
    world.at += BLOCK_MS
  }

  it('settles every trade of a book: its resting orders add up to it', () => {
    const from = head()
    const fills: Fill[] = Array.from({ length: 60 }, (_, at) => ({
      price: 3_000 + at * 50,
      size: 1_000_000 + at * 12_345,
      taker: at % 3 === 0 ? 'sell' : 'buy',
    }))
    for (const fill of fills) trade(fill)
    const byTransaction = Map.groupBy(logs(from), (log) => log.transactionHash)
    expect(byTransaction.size).toBe(fills.length)
    let split = 0
    for (const [at, own] of [...byTransaction.values()].entries()) {
      const makers = own.filter(({ topics }) => !topics[3]!.endsWith(EXCHANGE.slice(2)))
      expect(own.length).toBe(makers.length + 1)
      if (makers.length === 2) split++
      const shares = makers.reduce((sum, log) => sum + sharesOf(log), 0n)
      // Apart from some wei, to which the sizes of the world do not reach.
      expect(shares / 10n ** 12n).toBe(BigInt(fills[at]!.size))
    }
    expect(split).toBeGreaterThan(3)
  })

  it('names the block before it in every block, and replaces blocks on command', () => {
    for (let at = 0; at < 12; at++) trade({ price: 5_100, size: 1_000_000, taker: 'buy' })
    const last = head()
    const block = (number: number) =>
      call('eth_getBlockByNumber', hex(number), false).result as {
        hash: string
        parentHash: string
      }
    const before = Array.from({ length: 6 }, (_, at) => block(last - at))
    for (let at = 0; at < 5; at++) expect(before[at]!.parentHash).toBe(before[at + 1]!.hash)
    const own = logs(last - 3, last).map(({ transactionHash }) => transactionHash)
    fault = { kind: 'chain_reorg', depth: 3 }
    world.at += BLOCK_MS
    head()
    const after = Array.from({ length: 6 }, (_, at) => block(last - at))
    expect(after.map(({ hash }, at) => hash === before[at]!.hash)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    expect(after[1]!.parentHash).toBe(after[2]!.hash)
    world.at += BLOCK_MS
    const again = new Set(logs(last - 3).map(({ transactionHash }) => transactionHash))
    const gone = new Set(own.filter((hash) => !again.has(hash)))
    expect(gone.size).toBeGreaterThan(0)
    expect(gone.size).toBeLessThan(new Set(own).size)
  })

  it('refuses long ranges, lost blocks and too many requests, and repeats events', () => {
    const from = head()
    expect(call('eth_getLogs', { fromBlock: hex(from - 500), toBlock: hex(from) })).toMatchObject({
      error: { message: 'range 501 exceeds limit of 500' },
    })
    fault = { kind: 'chain_gap' }
    trade({ price: 5_100, size: 1_000_000, taker: 'buy' })
    expect(head()).toBe(from + 1)
    fault = undefined
    expect(logs(from + 1)).toBeUndefined()
    trade({ price: 5_100, size: 1_000_000, taker: 'buy' })
    const once = logs(from + 2)
    expect(once.length).toBeGreaterThan(1)
    fault = { kind: 'chain_duplicate' }
    expect(logs(from + 2)).toHaveLength(2 * once.length)
    fault = { kind: 'chain_limit' }
    expect(call('eth_blockNumber')).toMatchObject({ status: 429, error: { code: -32005 } })
    fault = undefined
    expect(call('eth_call')).toMatchObject({ error: { code: -32601 } })
  })

  it('keeps a bounded number of transactions, however many a block has', () => {
    const ledger = new Ledger(world, { reorganizes: () => undefined, loses: () => false })
    const log = { address: EXCHANGE, topics: [], data: '0x' }
    const first = ledger.head + 1
    for (let block = 0; block < 30; block++) {
      for (let number = 0; number < 1000; number++) {
        ledger.add({ hash: `0x${block}/${number}`, logs: [log] })
      }
      world.at += BLOCK_MS
    }
    expect(ledger.logs(first, first + 9)).toEqual([])
    expect(ledger.logs(first + 10, first + 29)).toHaveLength(20_000)
  })
})

function sharesOf({ data }: Log): bigint {
  const word = (at: number): bigint => BigInt(`0x${data.slice(2 + at * 64, 66 + at * 64)}`)
  return word(0) === 0n ? word(3) : word(2)
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
