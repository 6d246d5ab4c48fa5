import {
  FLAGS,
  PriorbookError,
  VENUES,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type Trade,
  type TradeNative,
} from '@priorbook/sdk/domain'
import type { Arrival } from '../../capture/contract.ts'
import { bookInstrument } from '../native.ts'
import type { OrderFilled } from './order-filled.ts'
import type { ChainLog } from './rpc-values.ts'

/** The outcome that a token stands for. */
export type TokenPlace = { readonly market: string; readonly outcome: number }

/** What an order did: how many shares of which token for how much collateral, in the smallest units. */
export type Exchanged = {
  readonly token: bigint
  /** Whether the owner of the order bought. */
  readonly isBuy: boolean
  readonly shares: bigint
  readonly collateral: bigint
}

/** Reads what an order did; undefined where it exchanged two tokens or nothing, which is not a trade. */
export function readExchanged(filled: OrderFilled): Exchanged | undefined {
  const { makerAssetId, takerAssetId, makerAmountFilled, takerAmountFilled } = filled
  if ((makerAssetId === 0n) === (takerAssetId === 0n)) return undefined
  return makerAssetId === 0n
    ? {
        token: takerAssetId,
        isBuy: true,
        shares: takerAmountFilled,
        collateral: makerAmountFilled,
      }
    : {
        token: makerAssetId,
        isBuy: false,
        shares: makerAmountFilled,
        collateral: takerAmountFilled,
      }
}

/**
 * True for the event of the order that was matched against resting ones. The contract reports a match
 * once for each resting order and once for this one, as the sum of them: the resting orders are the
 * trades, and the sum would count them twice.
 */
export function isSumOfMatch({ taker }: OrderFilled, { address }: ChainLog): boolean {
  return taker === address
}

/** The id of a trade: the transaction and the place of the event in its block. */
export function toTradeId({ transaction, index }: ChainLog): string {
  return `${transaction}-${index}`
}

/**
 * The id of a trade that was read before in a block that was replaced, and is now at the same place of
 * another block. The first row stays as it was read, so this one needs an id of its own.
 */
export function toMovedId(id: string, block: number): string {
  return `${id}-${block}`
}

/** An event with everything that its trade needs. */
export type PlacedFill = {
  readonly id: string
  readonly log: ChainLog
  readonly filled: OrderFilled
  readonly exchanged: Exchanged
  readonly place: TokenPlace
  /** The time of the block. */
  readonly time: Micros
}

const { priceDecimals, sizeDecimals } = VENUES.venuea
const ONE = 10n ** BigInt(priceDecimals)

/**
 * The trade of a resting order, in terms of the first outcome: a share of the second is one minus its
 * price, and buying it is selling the first. `decimals` are those of collateral and shares.
 */
export function toTrade(
  { id, log, filled, exchanged, place, time }: PlacedFill,
  decimals: number,
  { received, journal }: Arrival,
): Trade {
  const { shares, collateral, isBuy } = exchanged
  if (shares === 0n) throw new PriorbookError('unrepresentable', 'an order filled without shares')
  const price = toPrice(collateral, shares)
  const size = toSize(shares, decimals)
  const isFirst = place.outcome === 0
  const ticks = isFirst ? price.ticks : ONE - price.ticks
  const isRounded = !price.isExact || !size.isExact
  return {
    kind: 'trade',
    instrument: bookInstrument(place.market),
    tradeId: id,
    price: Number(ticks) as PriceTicks,
    size: size.units,
    // The taker is the other side of the resting order.
    taker: isBuy === isFirst ? 'sell' : 'buy',
    received,
    source: time,
    venueSeq: log.block,
    journal,
    native: toNative(filled),
    ...(isRounded ? { flags: FLAGS.rounded } : {}),
  }
}

// What the event says; amounts are larger than numbers of JSON.
function toNative(filled: OrderFilled): TradeNative {
  const { orderHash, maker, taker } = filled
  return {
    origin: 'chain',
    orderHash,
    maker,
    taker,
    makerAssetId: String(filled.makerAssetId),
    takerAssetId: String(filled.takerAssetId),
    makerAmountFilled: String(filled.makerAmountFilled),
    takerAmountFilled: String(filled.takerAmountFilled),
    fee: String(filled.fee),
  }
}

/**
 * The price in ticks. The contract divides whole numbers, so amounts at a price of the venue's grid can
 * be off by less than one unit of the collateral: that is the price itself. Any other is rounded.
 */
function toPrice(
  collateral: bigint,
  shares: bigint,
): { readonly ticks: bigint; readonly isExact: boolean } {
  const scaled = collateral * ONE
  const ticks = (scaled + shares / 2n) / shares
  const off = scaled - ticks * shares
  return { ticks, isExact: (off < 0n ? -off : off) < ONE }
}

function toSize(
  shares: bigint,
  decimals: number,
): { readonly units: SizeUnits; readonly isExact: boolean } {
  const finer = decimals - sizeDecimals
  const step = 10n ** BigInt(Math.abs(finer))
  const units = finer < 0 ? shares * step : (shares + step / 2n) / step
  if (units > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new PriorbookError('unrepresentable', `${shares} units of a share are too many`)
  }
  return { units: Number(units) as SizeUnits, isExact: finer <= 0 || shares % step === 0n }
}
