import { isAscii } from 'node:buffer'
import {
  PriorbookError,
  showValue,
  toMicros,
  VENUES,
  type BookChange,
  type BookSnapshot,
  type Gap,
  type GapReason,
  type Instrument,
  type MarketRevision,
  type Micros,
  type Provenance,
  type Trade,
} from '@priorbook/sdk/domain'
import {
  applyRows,
  HEAD_LIMIT,
  Ladder,
  loadBase,
  type BookRun,
  type Observation,
} from '@priorbook/sdk/tape'
import type { RecordKind } from '../journal/index.ts'
import type { AppendBatch, Quarantined, Store } from '../store/store.ts'
import {
  normalizeCatalogAnswer,
  normalizeVenueB,
  VENUEB_NORMALIZER_VERSION,
} from '../venues/venueb/index.ts'
import { HABIT_ROWS } from './silence.ts'
import { Track, type Mark } from './track.ts'

/** One journal record on its way into the store; `parsed` spares reading its JSON twice. */
export type ApplyRecord = {
  readonly number: number
  readonly received: Micros
  readonly kind: RecordKind
  readonly bytes: Uint8Array
  readonly parsed?: Record<string, unknown> | undefined
}

/** What the recorder writes into the journal about itself; everything that decides about rows is there. */
export type Note =
  | { readonly note: 'file_imported'; readonly sha256: string; readonly lines: number }
  | { readonly note: 'broken_line'; readonly reason: string }

/** How many messages of which kind were applied. */
export type ApplyCounts = {
  observations: number
  trades: number
  revisions: number
  gaps: number
  quarantined: number
  duplicates: number
  unapplied: number
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Derives rows from journal records of venue B: normalizer, row checks, gaps. Deterministic: the same
 * records give the same rows, however they are cut into calls and wherever it was stopped between.
 */
export class Applier {
  readonly counts: ApplyCounts = {
    observations: 0,
    trades: 0,
    revisions: 0,
    gaps: 0,
    quarantined: 0,
    duplicates: 0,
    unapplied: 0,
  }
  private readonly store: Store
  private readonly tracks = new Map<string, Track>()
  private broken: string | undefined
  private interrupted: { readonly reason: GapReason; readonly journal: number } | undefined
  private rows = noRows()
  private position: number | undefined

  constructor(store: Store) {
    this.store = store
  }

  /**
   * Takes one record. Nearly always done at once; a promise comes back where the store had to be
   * asked, and must be awaited before the next record.
   */
  take(record: ApplyRecord): Promise<void> | undefined {
    this.position = record.number
    try {
      if (record.kind === 'note') this.takeNote(record)
      else return this.takeMessage(record)?.catch((error: unknown) => this.refuse(record, error))
    } catch (error) {
      this.refuse(record, error)
    }
    return undefined
  }

  /** Everything derived since the last call, as one batch ready to append; absent if no record came. */
  drain(maker: Pick<AppendBatch, 'origin' | 'recorder'>): AppendBatch | undefined {
    const { rows, position } = this
    if (position === undefined) return undefined
    this.count(rows)
    this.rows = noRows()
    this.position = undefined
    const normalizer = VENUEB_NORMALIZER_VERSION
    return { ...rows, ...maker, venue: 'venueb', position, normalizer }
  }

  /** Closes every book: journal records up to `journal` are missing. */
  interrupt(reason: GapReason, journal: number): void {
    this.interrupted = { reason, journal }
    for (const track of this.tracks.values()) {
      this.rows.gaps.push(...track.interrupt(reason, journal))
    }
  }

  private refuse(record: ApplyRecord, error: unknown): void {
    if (!(error instanceof PriorbookError)) throw error
    this.rows.quarantine.push(toQuarantined(record, '', error.code, error.message))
  }

  private takeNote(record: ApplyRecord): void {
    const note = parseNote(record.bytes)
    switch (note.note) {
      case 'broken_line':
        this.broken = note.reason
        return
      case 'file_imported':
        this.rows.facts[`imported:${note.sha256}`] = note.lines
        return
    }
  }

  private takeMessage(record: ApplyRecord): Promise<void> | undefined {
    const { broken } = this
    if (broken !== undefined) {
      this.broken = undefined
      throw new PriorbookError('invalid_line', broken)
    }
    const message = record.parsed ?? parseJson(record.bytes)
    if ('response' in message) return this.takeAnswer(message['response'], record)
    const at = { received: record.received, journal: record.number }
    for (const event of normalizeVenueB(message['event'], at)) {
      if (event.kind !== 'snapshot' && event.kind !== 'change' && event.kind !== 'trade') {
        throw new PriorbookError('invalid_message', `a socket message gave a ${event.kind} event`)
      }
      checkNumbers(event)
      const track = this.tracks.get(event.instrument.key)
      // A message of venue B is about one market, so nothing was taken before this.
      if (track === undefined) return this.openTrack(event.instrument, message, record)
      if (event.kind === 'trade') this.takeTrade(track, event)
      else this.takeBook(track, event, record)
    }
    return undefined
  }

  private takeTrade(track: Track, event: Trade): void {
    const trade = track.takeTrade(event)
    if (trade === undefined) this.counts.duplicates++
    else this.rows.trades.push(trade)
  }

  private takeBook(track: Track, event: BookSnapshot | BookChange, record: ApplyRecord): void {
    const { rows } = this
    const taken = track.takeBook(event)
    if (taken.gaps.length > 0) rows.gaps.push(...taken.gaps)
    if (taken.observation !== undefined) rows.observations.push(taken.observation)
    else if (taken.duplicate === true) this.counts.duplicates++
    else if (taken.refusal === undefined) this.counts.unapplied++
    else {
      const { violation, detail } = taken.refusal
      rows.quarantine.push(toQuarantined(record, event.instrument.key, violation, detail))
    }
  }

  private async takeAnswer(answer: unknown, record: ApplyRecord): Promise<void> {
    const { rows } = this
    const at = { received: record.received, journal: record.number }
    const { events, problems } = normalizeCatalogAnswer(answer, at)
    for (const revision of events) {
      // What only the socket says (the market's UUID) is carried along.
      const { record: market } = revision
      const before = await this.store.market(market.venue, market.marketId)
      const native = { ...before?.record.native, ...market.native }
      rows.revisions.push({ ...revision, record: { ...market, native } })
    }
    for (const { where, error } of problems) {
      rows.quarantine.push(toQuarantined(record, where, error.code, error.message))
    }
  }

  // Takes up an instrument where the store left it, then takes the message again; a market that was
  // never heard of gets a first, bare record with what the socket says of it.
  private async openTrack(
    instrument: Instrument,
    message: Record<string, unknown>,
    record: ApplyRecord,
  ): Promise<void> {
    const { rows } = this
    const ref = { venue: instrument.venue, key: instrument.key }
    if ((await this.store.market(instrument.venue, instrument.market)) === undefined) {
      rows.revisions.push(bareMarket(instrument, message, record))
    }
    const newest = await this.store.books({ ...ref, order: 'desc', limit: HABIT_ROWS + 1 })
    const marks: Mark[] = newest.runs.flatMap(({ columns, from, to }) =>
      Array.from({ length: to - from }, (_, index) => ({
        received: columns.received[from + index]!,
        source: columns.source[from + index]!,
        venueSeq: columns.venueSeq[from + index]!,
      })),
    )
    const facts = await this.store.instrument(ref)
    const gaps = await this.store.gaps(ref)
    const gap = gaps.find(({ end }) => end === undefined)
    const trades = await this.store.trades({ ...ref, order: 'desc', limit: 1 })
    const ladder = newest.corrupt.length === 0 ? bookAfter(newest.runs) : undefined
    const track = new Track(instrument, {
      ...(ladder === undefined ? {} : { ladder }),
      sequence: facts?.lastSequence ?? 0,
      marks,
      lastTrade: trades.rows.received[trades.rows.count - 1] ?? 0,
      journal: newestJournal(newest.runs),
      tradeJournal: trades.rows.journal[trades.rows.count - 1] ?? 0,
      ...(gap === undefined ? {} : { gap }),
    })
    this.tracks.set(instrument.key, track)
    if (this.interrupted !== undefined) {
      rows.gaps.push(...track.interrupt(this.interrupted.reason, this.interrupted.journal))
    }
    await this.take(record)
  }

  private count(rows: Rows): void {
    this.counts.observations += rows.observations.length
    this.counts.trades += rows.trades.length
    this.counts.revisions += rows.revisions.length
    this.counts.gaps += rows.gaps.filter(({ end }) => end === undefined).length
    this.counts.quarantined += rows.quarantine.length
  }
}

type Rows = {
  readonly observations: Observation[]
  readonly trades: Trade[]
  readonly revisions: MarketRevision[]
  readonly gaps: Gap[]
  readonly quarantine: Quarantined[]
  readonly facts: Record<string, number>
}

function noRows(): Rows {
  return { observations: [], trades: [], revisions: [], gaps: [], quarantine: [], facts: {} }
}

/** Reads the JSON of a message; anything but an object is refused. */
export function parseJson(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown
  try {
    // Messages are ASCII but for titles; Latin-1 is then the same text, made in half the time.
    const text = isAscii(bytes)
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
      : decoder.decode(bytes)
    value = JSON.parse(text)
  } catch (cause) {
    throw new PriorbookError('invalid_line', 'it is not JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PriorbookError('invalid_line', `it is ${showValue(value)}, not an object`)
  }
  return value as Record<string, unknown>
}

// A number that the tape cannot hold is refused here, before it could stop the packing of a stream.
function checkNumbers({ source, venueSeq, channel }: Provenance): void {
  if (Math.max(source ?? 0, venueSeq ?? 0, channel ?? 0) >= HEAD_LIMIT) {
    throw new PriorbookError('unrepresentable', 'a time or number of the message is beyond 2^52')
  }
}

function parseNote(bytes: Uint8Array): Note {
  return parseJson(bytes) as Note
}

function toQuarantined(
  record: ApplyRecord,
  key: string,
  code: Quarantined['code'],
  detail: string,
): Quarantined {
  return {
    venue: 'venueb',
    key,
    journal: record.number,
    received: record.received,
    code,
    detail,
    raw: record.bytes,
  }
}

function bareMarket(
  instrument: Instrument,
  message: Record<string, unknown>,
  record: ApplyRecord,
): MarketRevision {
  const event = message['event'] as { msg?: { market_id?: unknown } }
  const id = event.msg?.market_id
  return {
    kind: 'market',
    received: toMicros(record.received),
    journal: record.number,
    record: {
      venue: instrument.venue,
      marketId: instrument.market,
      outcomes: [
        { label: 'Yes', index: 0 },
        { label: 'No', index: 1 },
      ],
      units: VENUES[instrument.venue].units,
      native: typeof id === 'string' ? { market_id: id } : {},
    },
  }
}

function newestJournal(runs: readonly BookRun[]): number {
  const run = runs.at(-1)
  return run === undefined ? 0 : run.columns.journal[run.to - 1]!
}

function bookAfter(runs: readonly BookRun[]): Ladder | undefined {
  const run = runs.at(-1)
  if (run === undefined) return undefined
  const ladder = new Ladder()
  loadBase(ladder, run.columns)
  applyRows(ladder, run.columns, 0, run.to)
  return ladder
}
