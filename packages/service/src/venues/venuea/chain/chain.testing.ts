import { parsePrice, parseSize, VENUES, type Micros } from '@priorbook/sdk/domain'
import type { WireCase } from '../../capture/wire.testing.ts'
import { CHAIN_LOGS, printCheckpoint, printLogs } from './requests.ts'

/** An exchange contract, in lower case as nodes send it. */
export const EXCHANGE = '0x8bc070bedab741406f4b1eb65a72bee27894b689'

/** The values of an emulated event; every one has a default. */
export type FillFacts = {
  readonly gives?: bigint
  readonly gets?: bigint
  readonly gave?: bigint
  readonly got?: bigint
  readonly taker?: string
  readonly block?: number
  readonly index?: number
  readonly transaction?: number
}

/** An `OrderFilled` event as a node sends it, written word by word. */
export function rawFill(facts: FillFacts = {}) {
  const { gives = 0n, gets = 7n, gave = 52n * 10n ** 16n, got = 10n ** 18n } = facts
  const { taker = `0x${'b'.repeat(40)}`, block = 100, index = 3, transaction = 1 } = facts
  const words = [gives, gets, gave, got, 0n]
  return {
    address: EXCHANGE,
    topics: [
      '0xd0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6',
      `0x${'1'.repeat(64)}`,
      `0x${'a'.repeat(40).padStart(64, '0')}`,
      `0x${taker.slice(2).padStart(64, '0')}`,
    ],
    data: `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}`,
    blockNumber: `0x${block.toString(16)}`,
    blockHash: hashOf(block),
    transactionHash: hashOf(transaction),
    transactionIndex: '0x0',
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  }
}

/** The hash of an emulated block or transaction. */
export function hashOf(number: number, branch = 0): string {
  return `0x${(number * 16 + branch + 1).toString(16).padStart(12, '0')}${'0'.repeat(52)}`
}

/** The time of an emulated block. */
export function timeOf(block: number): Micros {
  return (1_790_000_000_000_000 + block * 1_000_000) as Micros
}

const { priceDecimals, sizeDecimals } = VENUES.venuea

/** Answers of the chain with all that they give. */
export const CHAIN_CASES: readonly WireCase[] = [
  {
    name: 'a filled order on the chain',
    request: {
      ...printLogs(CHAIN_LOGS, {
        from: 100,
        to: 110,
        exchanges: [EXCHANGE],
        decimals: 18,
        tokens: new Map([['7', { market: '81', outcome: 0 }]]),
        times: new Map([[100, timeOf(100)]]),
        moved: new Set(),
      }),
      checkpoint: printCheckpoint({ ordinal: 2, block: 110, hash: 9, time: timeOf(110) }),
    },
    text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: [rawFill()] }),
    events: [
      {
        kind: 'trade',
        instrument: { venue: 'venuea', market: '81', key: '81' },
        tradeId: `${hashOf(1)}-3`,
        price: parsePrice('0.52', priceDecimals),
        size: parseSize('1', sizeDecimals),
        taker: 'sell',
        source: timeOf(100),
        venueSeq: 100,
        native: {
          origin: 'chain',
          orderHash: `0x${'1'.repeat(64)}`,
          maker: `0x${'a'.repeat(40)}`,
          taker: `0x${'b'.repeat(40)}`,
          makerAssetId: '0',
          takerAssetId: '7',
          makerAmountFilled: '520000000000000000',
          takerAmountFilled: '1000000000000000000',
          fee: '0',
        },
      },
    ],
  },
]
