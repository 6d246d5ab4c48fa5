import { BOOK_ROW_SCHEMA, CHANGES_ROW_SCHEMA, type FullBookRowJson } from './book-schema.ts'
import { CONTRACT_WITH_TERMS_SCHEMA } from './contract.ts'
import { NOTICE_SCHEMA } from './envelope.ts'
import { GAP_SCHEMA } from './gap.ts'
import {
  anyOf,
  COUNT,
  described,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  VENUE,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import { MARKET_SCHEMA } from './market.ts'
import { PROBLEMS, STREAM_ERRORS } from './problems.ts'
import { REFERENCE_FEED, REFERENCE_PRICE_SCHEMA } from './reference.ts'
import { TRADE_SCHEMA } from './trade-sample.ts'

/** What can be subscribed to; books are observations, markets are revisions of their records. */
export const STREAM_DATASETS = ['books', 'trades', 'markets'] as const

/** The name of what can be subscribed to. */
export type StreamDataset = (typeof STREAM_DATASETS)[number]

function oneOf<const Words extends readonly string[]>(words: Words): JsonSchema<Words[number]> {
  return { enum: words }
}

const ID: JsonSchema<string> = described(
  { type: 'string', minLength: 1, maxLength: 64 },
  'The client’s own name, unique on the connection.',
)
const NAME: JsonSchema<string> = { type: 'string', minLength: 1, maxLength: 200 }
const SEQUENCE: JsonSchema<number> = { type: 'integer', minimum: 1 }
const SEQUENCE_OR_NULL: JsonSchema<number | null> = { type: ['integer', 'null'], minimum: 0 }
const KEY = described(TEXT, 'The instrument: the middle of its row ids.')
const INPUT_TIME: JsonSchema<string | number> = described(
  { type: ['string', 'integer'] },
  'ISO 8601 with Z or an offset, or 13 digits of milliseconds, or 16 of microseconds.',
)
const REPLAY = described(TEXT, 'The id of the replay; live messages have none.')

const SELECTOR = {
  venue: VENUE,
  market_id: described(NAME, 'One market by the venue’s own identifier.'),
  series: described(NAME, 'The series of venue B.'),
  asset: described(NAME, 'The underlying asset, such as btc.'),
  window: described(NAME, 'The length of rounds, such as 15m.'),
}
const SELECTOR_OPTIONAL = ['market_id', 'series', 'asset', 'window'] as const
const SELECTOR_SCHEMA = objectOf(SELECTOR, { optional: SELECTOR_OPTIONAL })

/** Markets of one venue: one market, a series of B, an asset, or those of one window; all without. */
export type MarketSelector = TypeOf<typeof SELECTOR_SCHEMA>

const DATASETS: JsonSchema<readonly StreamDataset[]> = {
  type: 'array',
  items: { enum: [...STREAM_DATASETS] },
  minItems: 1,
  uniqueItems: true,
}
const DEPTH: JsonSchema<number> = { type: 'integer', minimum: 1, maximum: 10_000 }
const STYLE = {
  datasets: described(DATASETS, 'Which rows; all of them without. Gaps always come.'),
  mode: described(
    oneOf(['full', 'changes']),
    'Every row as the whole book (default), or changed levels after the first.',
  ),
  depth: described(DEPTH, 'Max levels per side; mode full only.'),
  number_format: oneOf(['number', 'string']),
  time_format: oneOf(['iso', 'epoch_us']),
}
const STYLE_OPTIONAL = ['datasets', 'mode', 'depth', 'number_format', 'time_format'] as const
const STYLE_SCHEMA = objectOf(STYLE, { optional: STYLE_OPTIONAL })

/** How rows are written, the same for live and replay. */
export type StreamStyle = TypeOf<typeof STYLE_SCHEMA>

type Properties = Readonly<Record<string, JsonSchema>>

type Tagged<
  Tag extends string,
  Word extends string,
  P extends Properties,
  Optional extends string,
> = ReturnType<typeof objectOf<P & { readonly [Name in Tag]: JsonSchema<Word> }, Optional>>

// An object with the tag that tells it from the others of its union.
function tagged<const Tag extends 'op' | 'type'>(tag: Tag) {
  return <const Word extends string, const P extends Properties, const O extends string = never>(
    word: Word,
    description: string,
    properties: P,
    optional: readonly O[] = [],
  ): Tagged<Tag, Word, P, O> => {
    const members = { [tag]: { const: word }, ...properties }
    return objectOf(members, { optional, description }) as Tagged<Tag, Word, P, O>
  }
}

const request = tagged('op')
const message = tagged('type')

const CONFLATE: JsonSchema<number> = { type: 'integer', minimum: 10, maximum: 60_000 }
const RESUME: JsonSchema<Readonly<Record<string, number>>> = {
  type: 'object',
  additionalProperties: COUNT,
}
const PACE = {
  conflate_ms: described(
    CONFLATE,
    'Max one row per instrument in this many milliseconds; every row without.',
  ),
  resume: described(
    RESUME,
    'The last sequence that the client has, by instrument key; of trades by `key/trade`.',
  ),
}
const PACE_OPTIONAL = ['conflate_ms', 'resume'] as const
const MARKETS: JsonSchema<readonly MarketSelector[]> = {
  type: 'array',
  items: SELECTOR_SCHEMA,
  minItems: 1,
  maxItems: 100,
}
const REFERENCE_SCHEMA = objectOf(
  { asset: described(NAME, 'The asset, such as btc.'), feed: REFERENCE_FEED },
  { optional: ['feed'] },
)

/** Reference prices: of an asset, of one feed or of all. */
export type ReferenceSelector = TypeOf<typeof REFERENCE_SCHEMA>

const REFERENCES: JsonSchema<readonly ReferenceSelector[]> = {
  type: 'array',
  items: REFERENCE_SCHEMA,
  maxItems: 20,
}
const SPEED: JsonSchema<number | 'max'> = {
  anyOf: [{ type: 'number', exclusiveMinimum: 0 }, { const: 'max' }],
}

/** What a client may send, by its operation: one JSON object per message, at most 64 KiB. */
export const STREAM_REQUEST_SCHEMAS = {
  auth: request('auth', 'The key, where neither header nor subprotocol carried it.', { key: NAME }),
  subscribe: request(
    'subscribe',
    'Follows one market, or those of a family and all that join it later.',
    {
      id: ID,
      ...SELECTOR,
      ...STYLE,
      ...PACE,
    },
    [...SELECTOR_OPTIONAL, ...STYLE_OPTIONAL, ...PACE_OPTIONAL],
  ),
  subscribe_contract: request(
    'subscribe_contract',
    'Follows all members of a contract, and markets that become members later.',
    {
      id: ID,
      contract_id: described(NAME, 'Such as btc-15m-up-down-20261117T174500Z.'),
      ...STYLE,
      ...PACE,
    },
    [...STYLE_OPTIONAL, ...PACE_OPTIONAL],
  ),
  subscribe_reference: request(
    'subscribe_reference',
    'Follows the reference prices of an asset, of one feed or of all.',
    {
      id: ID,
      asset: described(NAME, 'The asset, such as btc.'),
      feed: described(REFERENCE_FEED, 'Only this feed.'),
      number_format: oneOf(['number', 'string']),
      time_format: oneOf(['iso', 'epoch_us']),
      resume: described(RESUME, 'The last sequence that the client has, by key.'),
    },
    ['feed', 'number_format', 'time_format', 'resume'],
  ),
  unsubscribe: request('unsubscribe', 'Ends a subscription.', { id: ID }),
  replay: request(
    'replay',
    'Plays recorded rows of any markets, merged by received time.',
    {
      id: ID,
      markets: MARKETS,
      references: described(REFERENCES, 'Reference prices that are played among the rows.'),
      start_time: INPUT_TIME,
      end_time: INPUT_TIME,
      speed: described(SPEED, 'The recorded pace × N (1 without), or as fast as the client reads.'),
      ...STYLE,
    },
    ['references', 'speed', ...STYLE_OPTIONAL],
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

/** What a client may send. */
export type StreamRequest = TypeOf<
  (typeof STREAM_REQUEST_SCHEMAS)[keyof typeof STREAM_REQUEST_SCHEMAS]
>

const ROW = { key: KEY, sequence: SEQUENCE, previous_sequence: SEQUENCE_OR_NULL }
// Rows of the stream always have their ladders.
const BOOK = BOOK_ROW_SCHEMA as JsonSchema as JsonSchema<FullBookRowJson>

/** What the server sends, by its type. */
export const STREAM_MESSAGE_SCHEMAS = {
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
  subscribed: message(
    'subscribed',
    'A subscription began; snapshots follow.',
    {
      id: TEXT,
      venue: described(VENUE, 'Absent for a contract.'),
      contract: described(
        CONTRACT_WITH_TERMS_SCHEMA,
        'Of `subscribe_contract`: its members, their terms and differences.',
      ),
      markets: COUNT,
      instruments: COUNT,
      notice: NOTICE_SCHEMA,
    },
    ['venue', 'contract', 'notice'],
  ),
  contract: message(
    'contract',
    'A market became a member of a contract that is followed; its rows come next.',
    { id: described(TEXT, 'The subscription.'), row: CONTRACT_WITH_TERMS_SCHEMA },
  ),
  unsubscribed: message('unsubscribed', 'A subscription ended.', { id: TEXT }),
  snapshot: message(
    'snapshot',
    'The whole book: the first row of an instrument, or the first after a resync.',
    { ...ROW, row: BOOK, replay: REPLAY },
    ['replay'],
  ),
  update: message(
    'update',
    'The next row: where `previous_sequence` is not `sequence − 1`, rows were conflated.',
    { ...ROW, row: anyOf(BOOK, CHANGES_ROW_SCHEMA), replay: REPLAY },
    ['replay'],
  ),
  trade: message('trade', 'An execution print.', { ...ROW, row: TRADE_SCHEMA, replay: REPLAY }, [
    'replay',
  ]),
  reference: message(
    'reference',
    'A reference price.',
    { ...ROW, row: REFERENCE_PRICE_SCHEMA, replay: REPLAY },
    ['replay'],
  ),
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
      reason: oneOf(['slow_reader', 'resume_too_old', 'restarted', 'rebuilt']),
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
    nonce: TEXT_OR_NULL,
    server_time: TIME,
  }),
  replay_state: message(
    'replay_state',
    'What a replay does, and at the end the proof of its rows.',
    {
      replay: TEXT,
      state: oneOf(['started', 'paused', 'running', 'sought', 'stopped', 'finished']),
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
      code: oneOf([...Object.keys(STREAM_ERRORS), ...Object.keys(PROBLEMS)]),
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

/**
 * What the server sends. `key` is the instrument (the middle of a row id); `previous_sequence` is the
 * sequence of the message before it of the same instrument and kind on this socket, null for the first:
 * where it is not `sequence - 1`, rows were conflated or left out.
 */
export type StreamMessage = TypeOf<
  (typeof STREAM_MESSAGE_SCHEMAS)[keyof typeof STREAM_MESSAGE_SCHEMAS]
>

/** Why rows of an instrument were left out on this socket. */
export type ResyncReason = Extract<StreamMessage, { readonly type: 'resync' }>['reason']
