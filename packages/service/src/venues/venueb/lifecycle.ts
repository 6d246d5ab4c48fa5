import {
  VENUES,
  type Json,
  type MarketRecord,
  type MarketRevision,
  type MarketStatus,
  type Micros,
  type Resolution,
} from '@priorbook/sdk/domain'
import {
  compact,
  isNoTime,
  readId,
  readObject,
  readText,
  readUnixTime,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import type { Arrival } from '../capture/contract.ts'
import { decimal, isObject, OUTCOMES, payouts } from './market-fields.ts'
import { isCounter } from './socket-words.ts'

/** True for a message of the socket that tells of a market's life. */
export function isLifecycle(value: unknown): value is NativeObject {
  return isObject(value) && value['type'] === 'market_lifecycle_v2'
}

/**
 * Turns a `market_lifecycle_v2` message into a revision of its market that holds only what the
 * message says: it adds to what the catalogue says and does not replace it. Opening and closing on
 * time have no message; the message itself stands under `native.lifecycle`.
 */
export function normalizeLifecycle(message: NativeObject, at: Arrival): MarketRevision {
  const record = parseLifecycle(readObject(message['msg'], 'msg'))
  const { sid, seq } = message
  return compact<MarketRevision>({
    kind: 'market',
    record,
    received: at.received,
    venueSeq: isCounter(seq) ? seq : undefined,
    channel: isCounter(sid) ? sid : undefined,
    journal: at.journal,
  })
}

/**
 * What each event means in the words of the catalogue (docs.kalshi.com, market lifecycle). Events
 * that are not listed (`close_date_updated`, `metadata_updated` …) say nothing of the status.
 */
const LIVES: ReadonlyMap<
  string,
  { native: string; status: MarketStatus; resolution: Resolution['state'] }
> = new Map([
  ['created', { native: 'initialized', status: 'scheduled', resolution: 'none' }],
  ['activated', { native: 'active', status: 'open', resolution: 'none' }],
  ['deactivated', { native: 'inactive', status: 'paused', resolution: 'none' }],
  ['determined', { native: 'determined', status: 'determined', resolution: 'proposed' }],
  ['settled', { native: 'finalized', status: 'resolved', resolution: 'final' }],
])

function parseLifecycle(msg: NativeObject): MarketRecord {
  const marketId = readId(msg['market_ticker'], 'market_ticker')
  const event = msg['event_type']
  if (typeof event !== 'string') throw wrong('event_type', event, 'text')
  const life = LIVES.get(event)
  const more = msg['additional_metadata'] ?? undefined
  const metadata = more === undefined ? {} : readObject(more, 'additional_metadata')
  const eventTicker = metadata['event_ticker'] ?? ''
  const result = readText(msg['result'], 'result')
  const value = decimal(msg, 'settlement_value')
  const determinedTime = time(msg, 'determination_ts')
  const settledTime = time(msg, 'settled_ts')
  const settlement = compact<NonNullable<MarketRecord['settlement']>>({
    result,
    value,
    determinedTime,
    settledTime,
  })
  return compact<MarketRecord>({
    venue: 'venueb',
    marketId,
    title: readText(metadata['title'], 'title'),
    status: life?.status,
    statusNative: life?.native,
    openTime: time(msg, 'open_ts'),
    closeTime: time(msg, 'close_ts'),
    resolvedTime: settledTime,
    resolution:
      life === undefined
        ? undefined
        : compact<Resolution>({
            state: life.resolution,
            payouts: value === undefined ? undefined : payouts(value),
            times:
              determinedTime === undefined && settledTime === undefined
                ? undefined
                : compact<NonNullable<Resolution['times']>>({
                    determined: determinedTime,
                    settled: settledTime,
                  }),
          }),
    winningOutcome: result === 'yes' ? 'Yes' : result === 'no' ? 'No' : undefined,
    outcomes: OUTCOMES,
    units: VENUES.venueb.units,
    eventTicker: eventTicker === '' ? undefined : readId(eventTicker, 'event_ticker'),
    settlement: Object.keys(settlement).length === 0 ? undefined : settlement,
    // The values come from JSON.parse, so they are JSON.
    native: { lifecycle: msg as Json },
  })
}

// Whole seconds. The venue's language prints a missing time as 0 or as the year 1; one that Micros
// cannot hold is absent too, and native keeps it.
function time(msg: NativeObject, name: string): Micros | undefined {
  const value = msg[name]
  if (isNoTime(value) || value === 0 || value === ZERO_TIME) return undefined
  if (typeof value === 'number' && value > LAST_SECOND) return undefined
  return readUnixTime(value, name, 1)
}

const ZERO_TIME = -62_135_596_800
const LAST_SECOND = Math.floor(Number.MAX_SAFE_INTEGER / 1_000_000)
