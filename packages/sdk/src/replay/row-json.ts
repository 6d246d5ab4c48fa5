import {
  FLAGS,
  isVenueId,
  POW10,
  PriorbookError,
  showValue,
  type VenueId,
} from '../domain/index.ts'
import { ABSENT } from '../tape/index.ts'
import {
  fieldsOf,
  timeOf,
  toChannel,
  TRUNCATED,
  type BookContext,
  type JsonFields,
} from '../wire/index.ts'

/**
 * In the 16 flag bits of a chunk, marks a book that its source cut, because NDJSON shows a limited number
 * of levels. The tape itself never has it.
 */
const CUT_BOOK = 0x8000

/** The flags that an event shows: those of the tape, and `TRUNCATED` of the wire for a cut book. */
export function shownFlags(bits: number): number {
  return bits < CUT_BOOK ? bits : (bits & (CUT_BOOK - 1)) | TRUNCATED
}

/** The bits of a row's flag names. */
export function flagsOf(value: unknown): number {
  if (!Array.isArray(value)) throw invalid('a row has no flags')
  let bits = 0
  for (const name of value as unknown[]) {
    if (name === 'truncated') bits |= CUT_BOOK
    else if (typeof name === 'string' && Object.hasOwn(FLAGS, name)) {
      bits |= FLAGS[name as keyof typeof FLAGS]
    } else throw invalid(`${showValue(name)} is not a flag of a row`)
  }
  return bits
}

/** The venue, instrument key and sequence in a row's id. */
export function idOf(row: JsonFields): { venue: VenueId; key: string; sequence: number } {
  const { id, sequence } = row
  const [venue, key, digits, ...rest] = typeof id === 'string' ? id.split(':') : []
  if (
    !isVenueId(venue) ||
    key === undefined ||
    rest.length > 0 ||
    !Number.isSafeInteger(sequence) ||
    String(sequence) !== digits
  ) {
    throw invalid(`${showValue(id)} is not a row id`)
  }
  return { venue, key, sequence: sequence as number }
}

/** What a row says about its instrument. */
export function contextOfRow(row: JsonFields, venue: VenueId, key: string): BookContext {
  const text = (name: string): string | undefined => (row[name] ?? undefined) as string | undefined
  const marketId = text('market_id')
  if (marketId === undefined) throw invalid('a row has no market id')
  return {
    venue,
    key,
    marketId,
    conditionId: text('condition_id'),
    // Samples name their topic, which books call the event.
    eventId: text('event_id') ?? text('topic_id'),
    seriesTicker: text('series_ticker'),
    outcome: text('outcome'),
    tokenId: text('token_id'),
  }
}

/** The times, flags and venue numbers of a row. */
export function headOf(row: JsonFields): {
  received: number
  source: number
  venueSeq: number
  channel: number
  flags: number
} {
  const received = timeOf(row['received_time'])
  if (received === undefined) throw invalid('a row has no received time')
  const native = fieldsOf(row['native'] ?? {}, 'native')
  return {
    received,
    source: timeOf(row['source_time']) ?? ABSENT,
    venueSeq: countOf(native['seq']),
    channel: channelOf(native),
    flags: flagsOf(row['flags']),
  }
}

// Below this a double has more digits than the decimal, so that no digit is lost.
const MAX_EXACT_UNITS = 2 ** 50

/** A JSON number in whole units; undefined where it may have lost digits or has too many decimals. */
export function exactUnits(value: number, decimals: number): number | undefined {
  const scale = POW10[decimals]!
  const units = Math.round(value * scale)
  // The division is correctly rounded, as the parsing of the decimal was.
  return units <= MAX_EXACT_UNITS && units / scale === value ? units : undefined
}

/** An error about the content of a row. */
export function invalid(detail: string): PriorbookError {
  return new PriorbookError('invalid_line', detail)
}

function channelOf({ sid, connection }: JsonFields): number {
  if ((sid ?? undefined) === undefined && connection === undefined) return ABSENT
  return toChannel(Math.max(0, countOf(connection)), Math.max(0, countOf(sid)))
}

function countOf(value: unknown): number {
  if (value === undefined || value === null) return ABSENT
  if (!Number.isSafeInteger(value)) throw invalid(`${showValue(value)} is not a message number`)
  return value as number
}
