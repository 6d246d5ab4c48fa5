import {
  decimalText,
  FLAGS,
  POW10,
  printScaled,
  PriorbookError,
  readTradeNative,
  VENUES,
  type Trade,
} from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, MessageProblem } from '../capture/contract.ts'
import { decimalOf, readArray, readObject, readUnixTime, wrong } from '../capture/fields.ts'
import { optionalId, readInstrument } from './fields.ts'
import { toTrade } from './to-trade.ts'

/** The trades of an answer of the data service, and its malformed rows. */
export type DataTrades = {
  readonly trades: readonly Trade[]
  readonly problems: readonly MessageProblem[]
}

/**
 * Reads GET /trades of the data service. Its numbers are JSON numbers and its prices may be means of several
 * fills: what has more decimals than are kept is rounded and flagged, and `native` has it unchanged. Rows of
 * one answer that are equal in all fields are different trades, and get different ids.
 */
export function normalizeDataTrades(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): DataTrades {
  const trades: Trade[] = []
  const problems: MessageProblem[] = []
  const counts = new Map<string, number>()
  readArray(answer, 'the trades').forEach((row, index) => {
    try {
      const trade = readTrade(request, row, at)
      const count = (counts.get(trade.tradeId) ?? 0) + 1
      counts.set(trade.tradeId, count)
      trades.push(count === 1 ? trade : { ...trade, tradeId: `${trade.tradeId}-${count}` })
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `[${index}]`, error })
    }
  })
  return { trades, problems }
}

const { priceDecimals, sizeDecimals } = VENUES.venuec

function readTrade(request: CaptureRequest, value: unknown, at: Arrival): Trade {
  const row = readObject(value, 'the trade')
  const { conditionId, side } = row
  if (conditionId !== request['condition_id']) {
    throw wrong('conditionId', conditionId, 'the market that was asked for')
  }
  if (side !== undefined && side !== 'BUY' && side !== 'SELL') {
    throw wrong('side', side, 'BUY or SELL')
  }
  const price = readRounded(row['price'], 'price', priceDecimals)
  const size = readRounded(row['size'], 'size', sizeDecimals)
  const trade = toTrade(
    {
      type: 'last_trade_price',
      instrument: readInstrument(conditionId, row['asset']),
      price: price.units as Trade['price'],
      size: size.units as Trade['size'],
      side,
      transaction: optionalId(row['transactionHash'], 'transactionHash'),
      said: readTradeNative({ ...row, transaction_hash: row['transactionHash'] }, SAID),
      time: readUnixTime(row['timestamp'], 'timestamp', 1),
    },
    at,
  )
  return price.isExact && size.isExact ? trade : { ...trade, flags: FLAGS.rounded }
}

const SAID = ['side', 'price', 'size', 'transaction_hash'] as const

function readRounded(
  value: unknown,
  name: string,
  decimals: number,
): { readonly units: number; readonly isExact: boolean } {
  const text = decimalText(decimalOf(value, name))
  const units = Math.round(Number(text) * POW10[decimals]!)
  if (!Number.isSafeInteger(units) || units < 0) throw wrong(name, value, 'a number from 0 on')
  return { units, isExact: Number(printScaled(units, decimals)) === Number(text) }
}
