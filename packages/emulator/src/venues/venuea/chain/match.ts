import type { Fill, World } from '../../../core/upstream.ts'
import type { Round } from '../rounds.ts'

/** One event of a contract, without its place in a block. */
export type ContractLog = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

/** A transaction with the events that it caused. */
export type ChainTransaction = { readonly hash: string; readonly logs: readonly ContractLog[] }

/** The exchange contract whose matches are emulated. */
export const EXCHANGE = '0x8bc070bedab741406f4b1eb65a72bee27894b689'

/** An exchange of the same vendor on which other markets trade. */
const OTHER_EXCHANGE = '0x365fb81bd4a24d6303cd2f19c349de6894d8d58a'

/** The Keccak hash of `OrderFilled(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)`. */
export const ORDER_FILLED = '0xd0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6'
/** The Keccak hash of `OrdersMatched(bytes32,address,uint256,uint256,uint256,uint256)`. */
const ORDERS_MATCHED = '0x63bf4d16b7fa898ef4c4b2b6d90fd201e9c56313b65638af6088d149d2ce956c'

/** Prices of the world are ten-thousandths with up to two decimals. */
const ONE = 1_000_000
/** Collateral and shares have 18 decimals; sizes of the world have 6. */
const WEI_PER_SIZE = 10n ** 12n

/** Writes the trades of the world as the transactions in which an exchange contract settles them. */
export class Matches {
  readonly #world: World
  #count = 0

  constructor(world: World) {
    this.#world = world
  }

  /**
   * The transaction of a fill: an event for each maker's order, then one for the taker's order, whose
   * counterparty is the contract itself. Which token is traded, how many makers there are, and whether
   * the amounts are round follows from the seed.
   */
  settle(round: Round, fill: Fill): ChainTransaction {
    const name = `venuea/match/${round.marketId}/${this.#count++}`
    const dice = (at: number): number => Number.parseInt(this.#world.hex(name, 8)[at]!, 16)
    const kind = dice(0) % 4
    const isSplit = dice(1) < 4 && fill.size > 1
    const first = isSplit ? Math.max(1, Math.floor((fill.size * dice(2)) / 16)) : fill.size
    const sizes = isSplit ? [first, fill.size - first] : [first]
    const taker = this.#address(`${name}/taker`)
    const makers = sizes.map((size, at) => {
      const shares = BigInt(size) * WEI_PER_SIZE + toDust(dice(3), at)
      return toOrder(round, fill, kind, shares, dice(3) === 1)
    })
    const logs = makers.map(({ maker }, at) =>
      this.#filled(`${name}/maker${at}`, this.#address(`${name}/maker${at}`), taker, maker),
    )
    const takers = sum(makers.map((order) => order.taker))
    const summary = this.#filled(`${name}/order`, taker, EXCHANGE, { ...takers, fee: 7n })
    return {
      hash: this.#hash(`${name}/hash`),
      logs: [...logs, summary, this.#matched(name, takers)],
    }
  }

  /** A trade of a market that the venue does not list. */
  settleOther(): ChainTransaction {
    const name = `venuea/other/${this.#count++}`
    const token = BigInt(`0x${this.#world.hex(`${name}/token`, 64)}`)
    const order = { gives: 0n, gets: token, gave: 25n * 10n ** 16n, got: 10n ** 18n, fee: 0n }
    const [maker, taker] = [this.#address(`${name}/maker`), this.#address(`${name}/taker`)]
    const log = this.#filled(`${name}/order`, maker, taker, order)
    return { hash: this.#hash(`${name}/hash`), logs: [{ ...log, address: OTHER_EXCHANGE }] }
  }

  #filled(order: string, maker: string, taker: string, filled: Order): ContractLog {
    const { gives, gets, gave, got, fee } = filled
    return {
      address: EXCHANGE,
      topics: [ORDER_FILLED, this.#hash(order), toTopic(maker), toTopic(taker)],
      data: toData([gives, gets, gave, got, fee]),
    }
  }

  #matched(name: string, { gives, gets, gave, got }: Order): ContractLog {
    const topics = [ORDERS_MATCHED, this.#hash(`${name}/order`), toTopic(this.#address(name))]
    return { address: EXCHANGE, topics, data: toData([gives, gets, gave, got]) }
  }

  #hash(name: string): string {
    return `0x${this.#world.hex(name, 64)}`
  }

  #address(name: string): string {
    return `0x${this.#world.hex(name, 40)}`
  }
}

/** What the owner of an order gave and got: asset ids (0: the collateral) and amounts. */
type Order = {
  readonly gives: bigint
  readonly gets: bigint
  readonly gave: bigint
  readonly got: bigint
  readonly fee: bigint
}

type Side = { readonly isBuy: boolean; readonly outcome: 0 | 1 }

// What the taker and the maker do with which outcome. Both may buy (shares are made) or both may sell
// (shares are returned for collateral): a buyer of Up meets a seller of Up or a buyer of Down.
const WHEN_TAKER_BUYS: readonly { readonly taker: Side; readonly maker: Side }[] = [
  { taker: { isBuy: true, outcome: 0 }, maker: { isBuy: false, outcome: 0 } },
  { taker: { isBuy: true, outcome: 0 }, maker: { isBuy: true, outcome: 1 } },
  { taker: { isBuy: false, outcome: 1 }, maker: { isBuy: true, outcome: 1 } },
  { taker: { isBuy: false, outcome: 1 }, maker: { isBuy: false, outcome: 0 } },
]

function toOrder(
  round: Round,
  { price, taker }: Fill,
  kind: number,
  shares: bigint,
  isBetween: boolean,
): { readonly maker: Order; readonly taker: Order } {
  const sides = WHEN_TAKER_BUYS[kind]!
  const flip = ({ isBuy, outcome }: Side): Side => ({ isBuy: !isBuy, outcome })
  const isTakerBuyer = taker === 'buy'
  const trade = (side: Side): Order => {
    const millionths = Math.round(price * 100)
    const own = BigInt(side.outcome === 0 ? millionths : ONE - millionths)
    // A price between two ticks: the two sides of a match may agree on any.
    const between = isBetween ? (shares * 37n) / 10n ** 8n : 0n
    const cost = (shares * own) / BigInt(ONE) + (side.outcome === 0 ? between : -between)
    const token = BigInt(round.tokens[side.outcome])
    return side.isBuy
      ? { gives: 0n, gets: token, gave: cost, got: shares, fee: 0n }
      : { gives: token, gets: 0n, gave: shares, got: cost, fee: 0n }
  }
  return {
    maker: trade(isTakerBuyer ? sides.maker : flip(sides.maker)),
    taker: trade(isTakerBuyer ? sides.taker : flip(sides.taker)),
  }
}

function sum(orders: readonly Order[]): Order {
  return orders.reduce((a, b) => ({ ...a, gave: a.gave + b.gave, got: a.got + b.got }))
}

// Amounts that are not round: some wei more than the size of the world.
function toDust(dice: number, at: number): bigint {
  return dice === 0 ? BigInt(123 + at) : 0n
}

function toData(words: readonly bigint[]): string {
  return `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}`
}

function toTopic(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}
