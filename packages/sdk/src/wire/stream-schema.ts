import { BOOK_ROW_SCHEMA, CHANGES_ROW_SCHEMA } from './book-schema.ts'
import { NOTICE_SCHEMA } from './envelope.ts'
import { GAP_SCHEMA } from './gap.ts'
import {
  COUNT,
  described,
  listOf,
  objectOf,
  TEXT,
  TIME,
  VENUE,
  type JsonSchema,
} from './json-schema.ts'
import { MARKET_SCHEMA } from './market.ts'
import { PROBLEMS, STREAM_ERRORS } from './problems.ts'
import { STREAM_DATASETS, type StreamMessage, type StreamRequest } from './stream.ts'
import { TRADE_SCHEMA } from './trade-sample.ts'

const ID: JsonSchema = described(
  { type: 'string', minLength: 1, maxLength: 64 },
  'The client’s own name, unique on the connection.',
)
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 200 }
const SEQUENCE: JsonSchema = { type: 'integer', minimum: 1 }
const SEQUENCE_OR_NULL: JsonSchema = { type: ['integer', 'null'], minimum: 0 }
const KEY: JsonSchema = described(TEXT, 'The instrument: the middle of its row ids.')
const INPUT_TIME: JsonSchema = described(
  { type: ['string', 'integer'] },
  'ISO 8601 with Z or an offset, or 13 digits of milliseconds, or 16 of microseconds.',
)
const REPLAY: JsonSchema = described(TEXT, 'The id of the replay; live messages have none.')

const SELECTOR = {
  venue: VENUE,
  market_id: described(NAME, 'One market by the venue’s own identifier.'),
  series: described(NAME, 'The series of venue B.'),
  asset: described(NAME, 'The underlying asset, such as btc.'),
  window: described(NAME, 'The length of rounds, such as 15m.'),
}
const SELECTOR_OPTIONAL = ['market_id', 'series', 'asset', 'window']

const STYLE = {
  datasets: described(
    { type: 'array', items: { enum: [...STREAM_DATASETS] }, minItems: 1, uniqueItems: true },
    'Which rows; all of them without. Gaps always come.',
  ),
  mode: described(
    { enum: ['full', 'changes'] },
    'Every row as the whole book (default), or changed levels after the first.',
  ),
  depth: described(
    { type: 'integer', minimum: 1, maximum: 10_000 },
    'Max levels per side; mode full only.',
  ),
  number_format: { enum: ['number', 'string'] },
  time_format: { enum: ['iso', 'epoch_us'] },
}

function request(
  op: StreamRequest['op'],
  description: string,
  properties: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): JsonSchema {
  return objectOf({ op: { const: op }, ...properties }, { optional, description })
}

/** What a client may send, by its operation. */
export const STREAM_REQUEST_SCHEMAS: Readonly<Record<StreamRequest['op'], JsonSchema>> = {
  auth: request('auth', 'The key, where neither header nor subprotocol carried it.', { key: NAME }),
  subscribe: request(
    'subscribe',
    'Follows one market, or those of a family and all that join it later.',
    {
      id: ID,
      ...SELECTOR,
      ...STYLE,
      conflate_ms: described(
        { type: 'integer', minimum: 10, maximum: 60_000 },
        'Max one row per instrument in this many milliseconds; every row without.',
      ),
      resume: described(
        { type: 'object', additionalProperties: COUNT },
        'The last sequence that the client has, by instrument key; of trades by `key/trade`.',
      ),
    },
    [...SELECTOR_OPTIONAL, ...Object.keys(STYLE), 'conflate_ms', 'resume'],
  ),
  unsubscribe: request('unsubscribe', 'Ends a subscription.', { id: ID }),
  replay: request(
    'replay',
    'Plays recorded rows of any markets, merged by received time.',
    {
      id: ID,
      markets: {
        type: 'array',
        items: objectOf(SELECTOR, { optional: SELECTOR_OPTIONAL }),
        minItems: 1,
        maxItems: 100,
      },
      start_time: INPUT_TIME,
      end_time: INPUT_TIME,
      speed: described(
        { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, { const: 'max' }] },
        'The recorded pace × N (1 without), or as fast as the client reads.',
      ),
      ...STYLE,
    },
    ['speed', ...Object.keys(STYLE)],
  ),
  pause: request('pause', 'Pauses a replay.', { id: ID }),
  resume: request('resume', 'Continues a paused replay.', { id: ID }),
  seek: request('seek', 'Continues a replay from another time of its range.', {
    id: ID,
    time: INPUT_TIME,
  }),
  stop: request('stop', 'Ends a replay.', { id: ID }),
  ping: request('ping', 'Requests a pong.', { nonce: NAME }, ['nonce']),
}

function message(
  type: StreamMessage['type'],
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  return objectOf({ type: { const: type }, ...properties }, { optional, description })
}

const ROW = { key: KEY, sequence: SEQUENCE, previous_sequence: SEQUENCE_OR_NULL }

/** What the server sends, by its type. */
export const STREAM_MESSAGE_SCHEMAS: Readonly<Record<StreamMessage['type'], JsonSchema>> = {
  welcome: message(
    'welcome',
    'The key was accepted; the limits are those of its plan.',
    {
      connection: TEXT,
      plan: TEXT,
      server_time: TIME,
      heartbeat_ms: COUNT,
      limits: objectOf({ subscriptions: COUNT, instruments: COUNT, replays: COUNT }),
      notice: NOTICE_SCHEMA,
    },
    ['notice'],
  ),
  subscribed: message('subscribed', 'A subscription began; snapshots follow.', {
    id: TEXT,
    venue: VENUE,
    markets: COUNT,
    instruments: COUNT,
  }),
  unsubscribed: message('unsubscribed', 'A subscription ended.', { id: TEXT }),
  snapshot: message(
    'snapshot',
    'The whole book: the first row of an instrument, or the first after a resync.',
    { ...ROW, row: BOOK_ROW_SCHEMA, replay: REPLAY },
    ['replay'],
  ),
  update: message(
    'update',
    'The next row: where `previous_sequence` is not `sequence − 1`, rows were conflated.',
    { ...ROW, row: { anyOf: [BOOK_ROW_SCHEMA, CHANGES_ROW_SCHEMA] }, replay: REPLAY },
    ['replay'],
  ),
  trade: message('trade', 'An execution print.', { ...ROW, row: TRADE_SCHEMA, replay: REPLAY }, [
    'replay',
  ]),
  market: message(
    'market',
    'A market record as it is known now.',
    { row: MARKET_SCHEMA, replay: REPLAY },
    ['replay'],
  ),
  gap: message('gap', 'A gap opened, or closed.', { gap: GAP_SCHEMA, replay: REPLAY }, ['replay']),
  resync: message(
    'resync',
    'Rows after a sequence are left out here; a snapshot follows. REST has them.',
    {
      key: KEY,
      venue: VENUE,
      market_id: TEXT,
      after_sequence: COUNT,
      reason: { enum: ['slow_reader', 'resume_too_old', 'restarted', 'rebuilt'] },
    },
  ),
  snapshots_done: message('snapshots_done', 'All snapshots of a subscription were sent.', {
    id: TEXT,
  }),
  heartbeat: message('heartbeat', 'The connection is alive; `sent` counts its messages so far.', {
    server_time: TIME,
    sent: COUNT,
  }),
  pong: message('pong', 'The answer to a ping.', {
    nonce: { type: ['string', 'null'] },
    server_time: TIME,
  }),
  replay_state: message(
    'replay_state',
    'What a replay does, and at the end the proof of its rows.',
    {
      replay: TEXT,
      state: { enum: ['started', 'paused', 'running', 'sought', 'stopped', 'finished'] },
      time: TIME,
      range: objectOf({ start_time: TIME, end_time: TIME }),
      markets: COUNT,
      instruments: COUNT,
      notices: listOf(NOTICE_SCHEMA),
      rows: COUNT,
      ids_sha256: TEXT,
    },
    ['range', 'markets', 'instruments', 'notices', 'rows', 'ids_sha256'],
  ),
  error: message(
    'error',
    'A request failed, or the connection ends; `code` is for programs.',
    {
      code: { enum: [...Object.keys(STREAM_ERRORS), ...Object.keys(PROBLEMS)] },
      message: TEXT,
      id: TEXT,
      hint: TEXT,
      param: TEXT,
      allowed: listOf(TEXT),
      plan: TEXT,
    },
    ['id', 'hint', 'param', 'allowed', 'plan'],
  ),
}
