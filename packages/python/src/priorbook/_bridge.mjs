// A strategy whose hooks run in Python. `priorbook.backtest` starts the engine with this module and talks to it over two
// named pipes, in lines of JSON. While a hook runs, Python calls the context of the engine, one call at a time; so a
// strategy in Python decides at the same instants, on the same values, as one in JavaScript.
import { openSync, readSync, writeSync } from 'node:fs'

const [eventsPath, answersPath] = JSON.parse(process.env.PRIORBOOK_STRATEGY_PIPES)
const events = openSync(eventsPath, 'w')
const answers = openSync(answersPath, 'r')

let buffer = Buffer.alloc(65_536)
let start = 0
let end = 0

function send(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`)
  for (let at = 0; at < bytes.length;) at += writeSync(events, bytes, at)
}

function receive() {
  for (let from = start; ;) {
    const line = buffer.subarray(from, end).indexOf(10)
    if (line >= 0) {
      const text = buffer.toString('utf8', start, from + line)
      start = from + line + 1
      return JSON.parse(text)
    }
    buffer.copyWithin(0, start, end)
    end -= start
    start = 0
    from = end
    if (end === buffer.length) buffer = Buffer.concat([buffer, Buffer.alloc(buffer.length)])
    const count = readSync(answers, buffer, end, buffer.length - end, null)
    if (count === 0) throw new Error('the Python process is gone')
    end += count
  }
}

/** What Python may call while a hook runs. */
const CALLS = {
  order: (context, request) => context.order(request),
  cancel: (context, id) => context.cancel(id),
  cancelAll: (context, market) => context.cancelAll(market ?? undefined),
  replace: (context, id, change) => context.replace(id, change),
  merge: (context, market, size) => context.merge(market, size ?? undefined),
  split: (context, market, size) => context.split(market, size),
  timerAt: (context, at, tag) => context.timerAt(at, tag),
  timerIn: (context, micros, tag) => context.timerIn(micros, tag),
  forecast: (context, market, chance, outcome) =>
    context.forecast(market, chance, outcome ?? undefined),
  book: (context, market, outcome) => bookOf(context.book(market, outcome ?? undefined)),
  bids: (context, market, outcome, depth) => context.book(market, outcome).bids(depth ?? undefined),
  asks: (context, market, outcome, depth) => context.book(market, outcome).asks(depth ?? undefined),
  imbalance: (context, market, outcome, depth) =>
    context.book(market, outcome).imbalance(depth ?? undefined),
  vwap: (context, market, outcome, side, size) => context.book(market, outcome).vwap(side, size),
  market: (context, id) => marketOf(context.market(id)),
  markets: (context) => context.markets().map(marketOf),
  position: (context, market) => context.position(market),
  exposure: (context, market) => context.exposure(market),
  fee: (context, fill) => context.fee(fill),
  ticks: (context, market) => context.ticks(market),
  secondsToClose: (context, market) => context.secondsToClose(market),
  reference: (context, asset, feed) => context.reference(asset, feed ?? undefined),
  cash: (context, venue) => context.cash(venue),
  orders: (context, market) => context.orders(market ?? undefined),
  random: (context) => context.random(),
  log: (context, text) => context.log(text),
}

const BOOK = ['outcome', 'bestBid', 'bestAsk', 'bidSize', 'askSize', 'mid', 'spread', 'bidLevels']
BOOK.push('askLevels', 'time', 'sourceTime', 'sequence', 'microprice')
const MARKET = ['id', 'venue', 'marketId', 'title', 'status', 'outcomes', 'openTime', 'closeTime']
MARKET.push('asset', 'window', 'series', 'event', 'inGap', 'native')

function bookOf(book) {
  return book === undefined ? undefined : { market: book.market.id, ...pick(book, BOOK) }
}

function marketOf(market) {
  return market === undefined ? undefined : pick(market, MARKET)
}

// Members of views are getters, which JSON leaves out.
function pick(view, names) {
  const shown = {}
  for (const name of names) shown[name] = view[name]
  return shown
}

/** Calls a hook in Python, and does what it asks for until it is done. */
function runHook(run, hook, value, context) {
  send({ hook, run, now: context.now, value })
  let trouble
  for (;;) {
    const { call, args, is_told: isTold, failure } = receive()
    if (failure !== undefined) throw new Error(failure)
    if (call === undefined && trouble !== undefined) throw trouble
    if (call === undefined) return
    let answer
    try {
      answer = { value: CALLS[call](context, ...args) }
    } catch (error) {
      if (isTold === true) trouble ??= error
      answer = { failure: error instanceof Error ? error.message : String(error) }
    }
    // Nobody waits for the answer of what has no value, which saves a way there and back.
    if (isTold !== true) send(answer)
  }
}

/** The hooks whose first argument is not plain data. */
const SHOWN = { onBook: bookOf, onQuote: bookOf }
for (const hook of ['onMarket', 'onMarketBegin', 'onMarketEnd']) SHOWN[hook] = marketOf

let runs = 0

function createStrategy(params) {
  const run = ++runs
  send({ create: run, params })
  const { name, hooks, failure } = receive()
  if (failure !== undefined) throw new Error(failure)
  const strategy = { name }
  for (const hook of hooks) {
    const show = SHOWN[hook] ?? ((value) => value)
    if (hook === 'onStart' || hook === 'onEnd') {
      strategy[hook] = (context) => runHook(run, hook, null, context)
    } else if (hook === 'onData') {
      strategy[hook] = (feed, row, context) => runHook(run, hook, { feed, ...row }, context)
    } else strategy[hook] = (value, context) => runHook(run, hook, show(value), context)
  }
  return strategy
}

send({ hello: 1 })
export const strategy = receive().is_factory ? createStrategy : createStrategy({})
