/** The channels that the emulated venue serves. */
const CHANNELS = ['orderbook_delta', 'trade', 'ticker', 'market_lifecycle_v2'] as const

/** One channel. */
export type Channel = (typeof CHANNELS)[number]

/** A client's command, or the venue's error number for an invalid one. */
export type Command =
  | {
      readonly cmd: 'subscribe'
      readonly id: number
      readonly channels: readonly Channel[]
      /** Undefined: every market. */
      readonly tickers: readonly string[] | undefined
      readonly yesPrice: boolean
      readonly initialTicker: boolean
    }
  | { readonly cmd: 'unsubscribe'; readonly id: number; readonly sids: readonly number[] }
  | {
      readonly cmd: 'update'
      readonly id: number
      readonly sid: number
      readonly action: 'add_markets' | 'delete_markets' | 'get_snapshot'
      readonly tickers: readonly string[]
    }
  | { readonly cmd: 'list'; readonly id: number }
  | { readonly cmd: 'error'; readonly id: number | undefined; readonly code: ErrorNumber }

/** The socket errors that the emulator returns, worded as in the AsyncAPI document. */
export const ERRORS = {
  1: 'Unable to process message',
  2: 'Params required',
  3: 'Channels required',
  4: 'Subscription IDs required',
  5: 'Unknown command',
  7: 'Unknown subscription ID',
  8: 'Unknown channel name',
  11: 'Invalid parameter',
  12: 'Exactly one subscription ID is required',
  13: 'Unsupported action',
  14: 'Market Ticker required',
  15: 'Action required',
  26: 'Subscription market limit exceeded',
} as const

/** The number of an error. */
export type ErrorNumber = keyof typeof ERRORS

const ACTIONS = ['add_markets', 'delete_markets', 'get_snapshot'] as const

/** Reads a command. */
export function parseCommand(text: string): Command {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { cmd: 'error', id: undefined, code: 1 }
  }
  if (!isObject(value)) return { cmd: 'error', id: undefined, code: 1 }
  const id = typeof value['id'] === 'number' ? value['id'] : 0
  const fail = (code: ErrorNumber): Command => ({ cmd: 'error', id, code })
  const { cmd, params } = value
  if (cmd === 'list_subscriptions') return { cmd: 'list', id }
  if (cmd !== 'subscribe' && cmd !== 'unsubscribe' && cmd !== 'update_subscription') return fail(5)
  if (!isObject(params)) return fail(2)
  if (cmd === 'subscribe') return parseSubscribe(id, params, fail)
  const sids = numbersOf(params['sids'] ?? (params['sid'] === undefined ? [] : [params['sid']]))
  if (cmd === 'unsubscribe') {
    return sids === undefined || sids.length === 0 ? fail(4) : { cmd, id, sids }
  }
  if (sids?.length !== 1) return fail(12)
  const { action } = params
  if (action === undefined) return fail(15)
  const known = ACTIONS.find((candidate) => candidate === action)
  if (known === undefined) return fail(13)
  const tickers = tickersOf(params)
  if (tickers === undefined || tickers.length === 0) return fail(14)
  return { cmd: 'update', id, sid: sids[0]!, action: known, tickers }
}

function parseSubscribe(
  id: number,
  params: Record<string, unknown>,
  fail: (code: ErrorNumber) => Command,
): Command {
  const { channels } = params
  if (!Array.isArray(channels) || channels.length === 0) return fail(3)
  const known = channels.map((name) => CHANNELS.find((channel) => channel === name))
  if (known.includes(undefined)) return fail(8)
  const tickers = tickersOf(params)
  if (tickers === undefined && known.includes('orderbook_delta')) return fail(14)
  return {
    cmd: 'subscribe',
    id,
    channels: known as Channel[],
    tickers,
    yesPrice: params['use_yes_price'] === true,
    initialTicker: params['send_initial_snapshot'] === true,
  }
}

function tickersOf(params: Record<string, unknown>): readonly string[] | undefined {
  const list = params['market_tickers'] ?? params['market_ticker']
  if (typeof list === 'string') return [list]
  if (!Array.isArray(list)) return undefined
  return list.every((ticker) => typeof ticker === 'string') ? list : undefined
}

function numbersOf(value: unknown): readonly number[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.every((item) => typeof item === 'number') ? value : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
