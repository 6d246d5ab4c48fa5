import { fromMillis, printMicros, printScaled, type Micros } from '../../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  MARKET_ROUTES,
  NUMBER,
  objectOf,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  timeParam,
  type BookRowJson,
  type FullBookRowJson,
  type JsonSchema,
  type LadderJson,
} from '../../wire/index.ts'
import { GAP_ROW, gapRow } from '../gap-row.ts'
import {
  answerOf,
  CONTINUE,
  defineTool,
  endOf,
  noticesOf,
  pageOf,
  pick,
  questionOf,
  rowLimit,
} from '../tool.ts'
import { AT, MARKET_INPUT, MARKET_NEEDED } from './market-input.ts'

const LEVELS = listOf(objectOf({ price: DECIMAL, size: DECIMAL }))

const BOOK = objectOf({
  outcome: TEXT_OR_NULL,
  received_time: described(TIME, 'When the recorder received this book.'),
  source_time: TIME_OR_NULL,
  age_ms: described(
    DECIMAL_OR_NULL,
    'How old it is at the time of the question; null where the clock of this machine is behind.',
  ),
  bids: described(LEVELS, 'Best first.'),
  asks: described(LEVELS, 'Best first.'),
  bid_levels: described(COUNT, 'Levels of the whole book.'),
  ask_levels: COUNT,
  mid: DECIMAL_OR_NULL,
  spread: DECIMAL_OR_NULL,
  row_id: described(ROW_ID, 'The recorded row, as evidence.'),
  flags: listOf(TEXT),
})

const DEPTH: JsonSchema<number> = {
  type: 'integer',
  minimum: 1,
  maximum: 200,
  default: 5,
  description: 'Levels per side, 5 where absent.',
}

const AT_TIME = timeParam()

/** The book of a market at an instant, or the newest. */
export const BOOK_AT = defineTool({
  name: 'book_at',
  title: 'Order book at an instant',
  description:
    'The recorded order book of a market at an instant, or the newest one. Inside a gap there is no book: the answer says why, and nothing is filled in.',
  input: questionOf(
    MARKET_ROUTES.orderbook.query,
    ['outcome'],
    { ...MARKET_INPUT, at: AT, depth: DEPTH },
    MARKET_NEEDED,
  ),
  output: answerOf({
    at: described(TIME, 'The instant that the answer is about.'),
    books: described(listOf(BOOK), 'One per outcome where the venue has a book for each.'),
    missing: described(TEXT_OR_NULL, 'Why there is no book; null where there is one.'),
  }),
  async run({ venue, market_id, outcome, at, depth = 5 }, { client, signal }) {
    const market = client.market({ venue, market_id })
    const style = { depth, number_format: 'string' } as const
    const params = outcome === undefined ? style : { ...style, outcome }
    const time = at === undefined ? fromMillis(Date.now()) : AT_TIME.parse(at, 'at')
    const { data, notices } =
      at === undefined
        ? await market.latest(params, { signal })
        : await market.asOf({ ...params, at }, { signal })
    return {
      at: printMicros(time),
      books: data.map((row) => toBook(row, time)),
      missing: data.length > 0 ? null : (notices[0]?.message ?? 'nothing was recorded'),
      notices: noticesOf(notices),
      more: data.some(isCut) ? 'The book has more levels: ask for a larger `depth`.' : null,
    }
  },
})

const COPIED = [
  ...(['outcome', 'received_time', 'source_time', 'bid_levels', 'ask_levels'] as const),
  ...(['mid', 'spread', 'flags'] as const),
] as const

function toBook(row: FullBookRowJson, time: Micros) {
  const age = time - AT_TIME.parse(String(row.received_time), 'received_time')
  return {
    ...pick(row, COPIED),
    age_ms: age < 0 ? null : printScaled(age, 3),
    bids: levelsOf(row.bids),
    asks: levelsOf(row.asks),
    row_id: row.id,
  }
}

function levelsOf({ price, size }: LadderJson) {
  return price.map((one, index) => ({ price: one, size: size[index]! }))
}

function isCut({ bids, asks, bid_levels, ask_levels }: FullBookRowJson): boolean {
  return bids.price.length < bid_levels || asks.price.length < ask_levels
}

const SAMPLE = objectOf({
  outcome: TEXT_OR_NULL,
  bucket_end: described(TIME, 'The prices are those of the last book before this time.'),
  best_bid: DECIMAL_OR_NULL,
  best_ask: DECIMAL_OR_NULL,
  mid: DECIMAL_OR_NULL,
  spread: DECIMAL_OR_NULL,
  age_ms: described(NUMBER, 'Age of that book at the end of the bucket.'),
  observations: described(COUNT, 'Books that were received in the bucket.'),
})

/** Best prices of a market over time. */
export const PRICE_HISTORY = defineTool({
  name: 'price_history',
  title: 'Best prices over time',
  description:
    'Best bid and ask of a market at the end of every interval, from the recorded books. An interval in which nothing was observed has no row, and `gaps` says why.',
  input: questionOf(
    MARKET_ROUTES.snapshots.query,
    ['outcome', 'start_time', 'end_time', 'order'],
    {
      ...MARKET_INPUT,
      interval: MARKET_ROUTES.snapshots.query.interval.schema,
      limit: rowLimit(500, 30),
      continue: CONTINUE,
    },
    MARKET_NEEDED,
  ),
  output: pageOf(SAMPLE, {
    gaps: described(listOf(GAP_ROW), 'What was not observed between these rows.'),
  }),
  async run(question, { client, signal }) {
    const { venue, market_id, limit = 30, continue: resume, interval = '1m', ...range } = question
    const style = { include_orderbook: false, number_format: 'string' } as const
    const params = { ...range, ...style, interval, limit }
    const walk = client.market({ venue, market_id }).snapshots(params, { signal, resume })
    const page = await walk.page()
    return {
      rows: page.data.map(toSample),
      gaps: page.meta.gaps.map(gapRow),
      ...endOf(page, 'choose a longer `interval` or a shorter range'),
    }
  },
})

function toSample(row: BookRowJson) {
  const { outcome, best_bid, best_ask, mid, spread, received_time } = row
  const { bucket_end = received_time, age_ms = 0, observations = 1 } = row
  return { outcome, bucket_end, best_bid, best_ask, mid, spread, age_ms, observations }
}
