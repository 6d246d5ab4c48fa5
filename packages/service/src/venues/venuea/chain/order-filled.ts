import { PriorbookError } from '@priorbook/sdk/domain'
import type { ChainLog } from './rpc-values.ts'

/** One filled order, as the exchange contract reports it. */
export type OrderFilled = {
  readonly orderHash: string
  /** The owner of the order. */
  readonly maker: string
  /** The other side; the contract itself for the order that was matched against resting ones. */
  readonly taker: string
  /** What the owner gave and got: 0 is the collateral, anything else an outcome token. */
  readonly makerAssetId: bigint
  readonly takerAssetId: bigint
  readonly makerAmountFilled: bigint
  readonly takerAmountFilled: bigint
  readonly fee: bigint
}

/** The hash of the event's signature, the first topic of its logs. */
export const ORDER_FILLED_TOPIC =
  '0xd0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6'

// The data are five words of 32 bytes: two asset ids, two amounts and the fee.
const WORDS = 5
const WORD_CHARS = 64
const ADDRESS_CHARS = 40

/** Decodes an event of the exchange; throws PriorbookError where it is not a filled order. */
export function decodeOrderFilled({ topics, data }: ChainLog): OrderFilled {
  const [topic, orderHash, maker, taker] = topics
  const isWhole = topics.length === 4 && data.length === 2 + WORDS * WORD_CHARS
  if (topic !== ORDER_FILLED_TOPIC || !isWhole) {
    throw new PriorbookError('invalid_message', 'an event that is not a filled order')
  }
  const word = (at: number): bigint => {
    const start = 2 + at * WORD_CHARS
    return BigInt(`0x${data.slice(start, start + WORD_CHARS)}`)
  }
  return {
    orderHash: orderHash!,
    maker: toAddress(maker!),
    taker: toAddress(taker!),
    makerAssetId: word(0),
    takerAssetId: word(1),
    makerAmountFilled: word(2),
    takerAmountFilled: word(3),
    fee: word(4),
  }
}

// A topic is a word of 32 bytes, of which an address fills the last 20.
function toAddress(topic: string): string {
  return `0x${topic.slice(-ADDRESS_CHARS)}`
}
