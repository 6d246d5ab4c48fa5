import { createRequire } from 'node:module'
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

const uint256 = (name: string) => ({ name, type: 'uint256', indexed: false }) as const

const ABI = [
  {
    type: 'event',
    name: 'OrderFilled',
    inputs: [
      { name: 'orderHash', type: 'bytes32', indexed: true },
      { name: 'maker', type: 'address', indexed: true },
      { name: 'taker', type: 'address', indexed: true },
      uint256('makerAssetId'),
      uint256('takerAssetId'),
      uint256('makerAmountFilled'),
      uint256('takerAmountFilled'),
      uint256('fee'),
    ],
  },
] as const

/** Decodes an event of the exchange; throws PriorbookError where it is not a filled order. */
export function decodeOrderFilled({ topics, data }: ChainLog): OrderFilled {
  decoder ??= loadDecoder()
  try {
    const { args } = decoder({ abi: ABI, topics, data, strict: true })
    return { ...args, maker: args.maker.toLowerCase(), taker: args.taker.toLowerCase() }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0]! : String(cause)
    throw new PriorbookError('invalid_message', `an event that is not a filled order: ${why}`, {
      cause,
    })
  }
}

type DecodeEventLog = (log: {
  readonly abi: typeof ABI
  readonly topics: readonly string[]
  readonly data: string
  readonly strict: boolean
}) => { readonly args: OrderFilled }

let decoder: DecodeEventLog | undefined

// Loading the library takes a tenth of a second, so it is loaded with the first event: installations
// that do not read the chain never load it. Synchronously, because a normalizer cannot wait.
function loadDecoder(): DecodeEventLog {
  const require = createRequire(import.meta.url)
  const { decodeEventLog } = require('viem/utils') as { readonly decodeEventLog: DecodeEventLog }
  return decodeEventLog
}
