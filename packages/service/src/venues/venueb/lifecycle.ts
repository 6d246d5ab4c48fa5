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
  isObject,
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
import { decimal, isCounter, OUTCOMES, payouts } from './fields.ts'
import { readTicker } from './ticker.ts'

/** Returns true for a socket message about the status of a market. */
export function isLifecycle(value: unknown): value is NativeObject {
  return isObject(value) && value['type'] === 'market_lifecycle_v2'
}

/**
 * Converts a `market_lifecycle_v2` message to a revision that holds only the fields of the message, so
 * that it adds to the catalogue's record instead of replacing it. The venue sends no message when a
 * market opens or closes on schedule. The message itself is kept under `native.lifecycle`.
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

/** What one of venue B's status words means. */
export type MarketState = {
  readonly status: MarketStatus
  readonly resolution: Resolution['state']
}

/** The catalogue's status words; a word that is not listed leaves `status` absent. */
export const MARKET_STATES: ReadonlyMap<string, MarketState> = new Map<string, MarketState>([
  ['initialized', { status: 'scheduled', resolution: 'none' }],
  ['active', { status: 'open', resolution: 'none' }],
  ['inactive', { status: 'paused', resolution: 'none' }],
  ['closed', { status: 'closed', resolution: 'none' }],
  ['determined', { status: 'determined', resolution: 'proposed' }],
  ['disputed', { status: 'disputed', resolution: 'disputed' }],
  // A corrected result restarts the settlement timer: determined again, with a new revision.
  ['amended', { status: 'determined', resolution: 'proposed' }],
  ['finalized', { status: 'resolved', resolution: 'final' }],
])

/**
 * The status word that each lifecycle event leads to (docs.kalshi.com, market lifecycle). Other events
 * (`close_date_updated`, `metadata_updated` …) do not change the status.
 */
const STATUS_OF_EVENT: ReadonlyMap<string, string> = new Map([
  ['created', 'initialized'],
  ['activated', 'active'],
  ['deactivated', 'inactive'],
  ['determined', 'determined'],
  ['settled', 'finalized'],
])

function parseLifecycle(msg: NativeObject): MarketRecord {
  const marketId = readId(msg['market_ticker'], 'market_ticker')
  const event = msg['event_type']
  if (typeof event !== 'string') throw wrong('event_type', event, 'text')
  const statusNative = STATUS_OF_EVENT.get(event)
  const state = statusNative === undefined ? undefined : MARKET_STATES.get(statusNative)
  const more = msg['additional_metadata'] ?? undefined
  const metadata = more === undefined ? {} : readObject(more, 'additional_metadata')
  const eventTicker = metadata['event_ticker'] ?? ''
  const strike = decimal(metadata, 'floor_strike')
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
    status: state?.status,
    statusNative,
    openTime: time(msg, 'open_ts'),
    closeTime: time(msg, 'close_ts'),
    resolvedTime: settledTime,
    resolution:
      state === undefined
        ? undefined
        : compact<Resolution>({
            state: state.resolution,
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
    ...readTicker(
      marketId,
      eventTicker === '' ? {} : { event: readId(eventTicker, 'event_ticker') },
    ),
    ...(strike === undefined ? {} : { strike }),
    settlement: Object.keys(settlement).length === 0 ? undefined : settlement,
    // The values come from JSON.parse, so they are JSON.
    native: { lifecycle: msg as Json },
  })
}

// Unix seconds. The venue writes a missing time as 0 or as the year 1. A time that Micros cannot hold
// is omitted too; native keeps it.
function time(msg: NativeObject, name: string): Micros | undefined {
  const value = msg[name]
  if (isNoTime(value) || value === 0 || value === ZERO_TIME) return undefined
  if (typeof value === 'number' && value > LAST_SECOND) return undefined
  return readUnixTime(value, name, 1)
}

const ZERO_TIME = -62_135_596_800
const LAST_SECOND = Math.floor(Number.MAX_SAFE_INTEGER / 1_000_000)
