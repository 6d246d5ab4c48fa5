import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { expect, onTestFinished, test } from 'vitest'
import { createTestSink, type TestSink } from '../../capture/sink.testing.ts'
import { createVenueANormalizer } from '../normalize.ts'
import { EXCHANGE, hashOf, rawFill, timeOf } from './chain.testing.ts'
import { ChainReader, type ChainOptions } from './reader.ts'

/** A chain that a test moves; `branch` counts how often a block was replaced. */
class ScriptedChain {
  head = 100
  id = 56
  readonly branches = new Map<number, number>()
  readonly fills = new Map<number, ReturnType<typeof rawFill>[]>()
  readonly calls: string[] = []
  refuse: (method: string, params: readonly unknown[]) => object | undefined = () => undefined

  answer(method: string, params: readonly unknown[]): object {
    this.calls.push(method)
    const refusal = this.refuse(method, params)
    if (refusal !== undefined) return { error: refusal }
    switch (method) {
      case 'eth_chainId':
        return { result: `0x${this.id.toString(16)}` }
      case 'eth_blockNumber':
        return { result: `0x${this.head.toString(16)}` }
      case 'eth_getBlockByNumber':
        return { result: this.block(Number(params[0])) }
      default: {
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
        const logs: object[] = []
        for (let block = Number(fromBlock); block <= Number(toBlock); block++) {
          const blockHash = hashOf(block, this.branches.get(block))
          logs.push(...(this.fills.get(block) ?? []).map((log) => ({ ...log, blockHash })))
        }
        return { result: logs }
      }
    }
  }

  block(number: number): object | null {
    if (number > this.head) return null
    return {
      number: `0x${number.toString(16)}`,
      hash: hashOf(number, this.branches.get(number)),
      parentHash: hashOf(number - 1, this.branches.get(number - 1)),
      timestamp: `0x${(timeOf(number) / 1_000_000).toString(16)}`,
    }
  }
}

const KEY = 'SECRETKEY123'

async function serve(chain: ScriptedChain): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => (body += String(part)))
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as {
        id: number
        method: string
        params: unknown[]
      }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...chain.answer(method, params) }))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/${KEY}`
}

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

const eachMarket = async (): Promise<void> => undefined

/** Runs a reader until the test ends. */
function read(
  url: string,
  options: Partial<ChainOptions> = {},
  facts: ReadonlyMap<string, number> = new Map(),
) {
  const sink = createTestSink(createVenueANormalizer())
  const reader = new ChainReader(
    {
      url,
      exchanges: [EXCHANGE],
      confirmations: 2,
      maxBlocks: 10,
      callsPerMinute: 100_000,
      decimals: 18,
      startBlock: 0,
      assets: ['BTC'],
      speed: 12,
      ...options,
    },
    { sink, log: LOG, feed: { facts, eachMarket }, isCatalogueRead: () => true },
  )
  const abort = new AbortController()
  const running = reader.run(abort.signal)
  const stop = async (): Promise<void> => {
    abort.abort()
    await running
  }
  onTestFinished(stop)
  return { sink, reader, stop }
}

function recordOf(marketId: string, tokens: readonly string[]): MarketRecord {
  return {
    venue: 'venuea',
    marketId,
    asset: 'BTC',
    outcomes: tokens.map((tokenId, index) => ({ label: `${index}`, index, tokenId })),
    units: VENUES.venuea.units,
    native: {},
  }
}

/** The events and facts that the journaled answers give. */
function derive(sink: TestSink) {
  const normalizer = createVenueANormalizer()
  const facts = new Map<string, number>()
  const events = sink.answers.flatMap(({ request, parsed }, index) => {
    const at = { received: sink.now(), journal: index + 1 }
    const reading = normalizer.answer(request, parsed, at)
    for (const [name, value] of Object.entries(reading.feed?.facts ?? {})) facts.set(name, value)
    return reading.events
  })
  const trades = events.flatMap((event) => (event.kind === 'trade' ? [event] : []))
  const gaps = events.flatMap((event) => (event.kind === 'gap' ? [event.gap] : []))
  return { facts, trades, gaps }
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 400 && !holds(); turn++) await pause(25)
  expect(holds()).toBe(true)
}

const reached = (reader: ChainReader, block: number) => (): boolean =>
  Number(/block (\d+)/.exec(reader.status().detail)?.[1] ?? 0) >= block

test('a market that is found late is read again from its first fill on', async () => {
  const chain = new ScriptedChain()
  const url = await serve(chain)
  const { sink, reader } = read(url)
  await until(reached(reader, 98))
  for (const block of [101, 115, 130]) {
    chain.fills.set(block, [rawFill({ block, transaction: block }), rawFill({ block, gets: 9n })])
  }
  chain.head = 140
  await until(reached(reader, 138))
  expect(derive(sink).trades).toEqual([])
  reader.addMarket(recordOf('81', ['7', '8']))
  await until(() => derive(sink).trades.length === 3)
  expect(derive(sink).trades.map(({ venueSeq }) => venueSeq)).toEqual([101, 115, 130])
  // One that is known from the start is read once.
  chain.fills.set(141, [rawFill({ block: 141, transaction: 141 })])
  chain.head = 145
  await until(reached(reader, 143))
  expect(derive(sink).trades).toHaveLength(4)
})

test('what cannot be kept is read again, and is no outage of the endpoint', async () => {
  const chain = new ScriptedChain()
  const url = await serve(chain)
  const { sink, reader } = read(url)
  reader.addMarket(recordOf('81', ['7']))
  await until(reached(reader, 98))
  const keep = sink.answer.bind(sink)
  let refused = 0
  sink.answer = () => {
    refused++
    return { events: [], problems: [], error: new PriorbookError('disk_full', 'no space') }
  }
  chain.fills.set(105, [rawFill({ block: 105, transaction: 105 })])
  chain.head = 110
  await until(() => refused > 2)
  expect(reached(reader, 99)()).toBe(false)
  sink.answer = keep
  await until(reached(reader, 108))
  expect(derive(sink).trades).toHaveLength(1)
  expect(sink.notes.filter(({ note }) => note === 'feed_lost')).toEqual([])
})

test('it continues after a restart and finds where blocks were replaced meanwhile', async () => {
  const chain = new ScriptedChain()
  const url = await serve(chain)
  const first = read(url, { maxBlocks: 4 })
  first.reader.addMarket(recordOf('81', ['7']))
  await until(reached(first.reader, 98))
  chain.fills.set(105, [rawFill({ block: 105, transaction: 105 })])
  chain.fills.set(111, [rawFill({ block: 111, transaction: 111 })])
  chain.head = 116
  await until(reached(first.reader, 114))
  await first.stop()
  const { facts, trades } = derive(first.sink)
  expect(trades.map(({ tradeId }) => tradeId)).toEqual([`${hashOf(105)}-3`, `${hashOf(111)}-3`])
  // Blocks from 109 on are replaced: one fill is gone, and another took place.
  for (let block = 109; block <= 116; block++) chain.branches.set(block, 1)
  chain.fills.delete(111)
  chain.fills.set(112, [rawFill({ block: 112, transaction: 112 })])
  chain.head = 120
  const second = read(url, { maxBlocks: 4 }, facts)
  second.reader.addMarket(recordOf('81', ['7']))
  await until(reached(second.reader, 118))
  const after = derive(second.sink)
  expect(after.trades.map(({ tradeId }) => tradeId)).toEqual([`${hashOf(112)}-3`])
  // Positions were 98, 102, 106, 110 and 114: that of 106 is the newest on the chain.
  expect(after.gaps).toMatchObject([
    {
      reason: 'reorganized',
      sourceStart: timeOf(106),
      sourceEnd: timeOf(114),
      detail: expect.stringContaining('blocks 107 to 114') as string,
    },
  ])
})

test('a fill that is mined again elsewhere is a row with the new block, and the first row is named', async () => {
  const chain = new ScriptedChain()
  const url = await serve(chain)
  const { sink, reader } = read(url)
  reader.addMarket(recordOf('81', ['7']))
  await until(reached(reader, 98))
  // The second one comes again in the same block of the new branch, so it is the same row.
  chain.fills.set(105, [rawFill({ block: 105, transaction: 1 })])
  chain.fills.set(106, [rawFill({ block: 106, transaction: 2 })])
  chain.head = 110
  await until(reached(reader, 108))
  for (let block = 104; block <= 110; block++) chain.branches.set(block, 1)
  chain.fills.delete(105)
  chain.fills.set(115, [rawFill({ block: 115, transaction: 1 })])
  chain.head = 112
  await until(reached(reader, 110))
  chain.head = 120
  await until(reached(reader, 118))
  const { trades, gaps } = derive(sink)
  const [first, same] = [`${hashOf(1)}-3`, `${hashOf(2)}-3`]
  expect(trades.map(({ tradeId, venueSeq, source }) => [tradeId, venueSeq, source])).toEqual([
    [first, 105, timeOf(105)],
    [same, 106, timeOf(106)],
    [same, 106, timeOf(106)],
    [`${first}-115`, 115, timeOf(115)],
  ])
  expect(gaps).toHaveLength(1)
  expect(gaps[0]!.detail).toMatch(new RegExp(`not on the chain: ${first}$`))
})

test('blocks that are refused for good are given up, and nothing else', async () => {
  const chain = new ScriptedChain()
  const url = await serve(chain)
  const { sink, reader } = read(url)
  reader.addMarket(recordOf('81', ['7']))
  await until(reached(reader, 98))
  chain.refuse = (method, [filter]) => {
    if (method !== 'eth_getLogs') return undefined
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
    const isLost = Number(fromBlock) <= 117 && Number(toBlock) >= 104
    return isLost ? { code: -32000, message: `pruned, see ${KEY}` } : undefined
  }
  chain.fills.set(103, [rawFill({ block: 103, transaction: 103 })])
  chain.fills.set(118, [rawFill({ block: 118, transaction: 118 })])
  chain.head = 130
  await until(reached(reader, 128))
  const { trades, gaps } = derive(sink)
  expect(trades.map(({ venueSeq }) => venueSeq)).toEqual([103, 118])
  expect(gaps.map(({ reason, detail }) => `${reason} ${detail}`)).toEqual([
    expect.stringMatching(/^unavailable blocks 104 to 117/),
  ])
  // The key in the address reaches no note.
  expect(JSON.stringify(sink.notes)).not.toContain(KEY)
})

test('another chain is not read, and an endpoint that stands still is an outage', async () => {
  const chain = new ScriptedChain()
  chain.id = 1
  const url = await serve(chain)
  const { sink, reader } = read(url, { speed: 60 })
  await until(() => chain.calls.length >= 2)
  expect(chain.calls.every((method) => method === 'eth_chainId')).toBe(true)
  chain.id = 56
  await until(reached(reader, 98))
  await until(() => sink.notes.some(({ note }) => note === 'feed_lost'))
  expect(reader.status()).toMatchObject({ isOutage: true })
  chain.head = 110
  await until(() => !reader.status().isOutage)
})
