import {
  FLAGS,
  type BookChange,
  type BookSnapshot,
  type Gap,
  type GapReason,
  type Instrument,
  type Micros,
  type Provenance,
  type Trade,
} from '@priorbook/sdk/domain'
import {
  ABSENT,
  BookAssembler,
  type Ladder,
  type Observation,
  type Refusal,
} from '@priorbook/sdk/tape'
import { SilenceWatch } from './silence.ts'

/** Where a track starts: what the store holds of the instrument. */
export type TrackStart = {
  readonly ladder?: Ladder
  readonly sequence: number
  /** The newest stored observations, oldest first. */
  readonly marks: readonly Mark[]
  readonly lastTrade: number
  /** The journal records of the newest stored observation and trade; earlier ones are known. */
  readonly journal: number
  readonly tradeJournal: number
  /** An open gap: the book is closed until the next full one. */
  readonly gap?: Gap
}

/** One good observation as far as gaps care. */
export type Mark = {
  readonly received: number
  readonly source: number
  readonly venueSeq: number
}

/** What a book event led to. */
export type Taken = {
  readonly observation?: Observation
  readonly gaps: readonly Gap[]
  readonly refusal?: Refusal
  /** The message repeats the number of the one before and was passed over. */
  readonly duplicate?: true
}

/**
 * The recorder's knowledge of one instrument: its book, its last good observation and its open gap.
 * It is a function of the journal alone (its memory is what the store holds), so a restart or a
 * rebuild at any point gives the same rows and the same gaps.
 */
export class Track {
  readonly assembler: BookAssembler
  private readonly instrument: Instrument
  private readonly silence = new SilenceWatch()
  private sequence: number
  private last: Mark | undefined
  private lastFrame: number
  private lastTrade: number
  private gap: Gap | undefined
  private readonly journal: number
  private readonly tradeJournal: number

  constructor(instrument: Instrument, start: TrackStart) {
    this.instrument = instrument
    this.assembler = new BookAssembler(instrument, start.ladder)
    this.assembler.open = start.ladder !== undefined && start.gap === undefined
    this.sequence = start.sequence
    for (const mark of start.marks) this.keep(mark)
    this.assembler.lastReceived = this.last?.received ?? 0
    this.lastTrade = start.lastTrade
    this.lastFrame = Math.max(this.last?.received ?? 0, start.lastTrade)
    this.gap = start.gap
    this.journal = start.journal
    this.tradeJournal = start.tradeJournal
  }

  /** Takes a full book or a change. */
  takeBook(event: BookSnapshot | BookChange): Taken {
    const gaps: Gap[] = []
    // After a damaged log was cut off, the journal is read again from before what is stored.
    if (event.journal <= this.journal) return { gaps, duplicate: true }
    const seq = event.venueSeq ?? ABSENT
    const before = this.last
    if (before !== undefined && seq !== ABSENT && before.venueSeq !== ABSENT) {
      if (seq === before.venueSeq) return { gaps, duplicate: true }
      // A subscription counts up for as long as it lives: a lower number is a new connection.
      if (seq < before.venueSeq) this.openGap('disconnected', event, gaps)
      else this.watchSilence(event, before, seq - before.venueSeq, gaps)
    }
    this.lastFrame = Math.max(this.lastFrame, event.received)
    if (event.kind === 'change' && !this.assembler.open) {
      if (this.gap === undefined) this.openGap('book_reset', event, gaps)
      return { gaps }
    }
    if (this.gap !== undefined) this.assembler.markGap()
    const taken = this.assembler.take(event)
    if ('violation' in taken) {
      this.openGap('rejected', event, gaps)
      return { gaps, refusal: taken }
    }
    this.closeGap(taken, gaps)
    this.sequence++
    this.keep({ received: taken.received, source: taken.source, venueSeq: seq })
    return { gaps, observation: taken }
  }

  /** Records may be missing from here on: the book is closed until the next full one. */
  interrupt(reason: GapReason, journal: number): Gap[] {
    const gaps: Gap[] = []
    if (this.last === undefined) this.assembler.close()
    else this.openGap(reason, { received: this.last.received as Micros, journal }, gaps)
    return gaps
  }

  /** Takes a trade, unless it is stored; its received time never runs against the one before. */
  takeTrade(trade: Trade): Trade | undefined {
    if (trade.journal <= this.tradeJournal) return undefined
    this.lastFrame = Math.max(this.lastFrame, trade.received)
    if (trade.received >= this.lastTrade) {
      this.lastTrade = trade.received
      return trade
    }
    this.lastTrade++
    const flags = (trade.flags ?? 0) | FLAGS.clock_step
    return { ...trade, received: this.lastTrade as Micros, flags }
  }

  private keep(mark: Mark): void {
    if (this.last !== undefined) this.silence.note(this.last, mark)
    this.last = mark
  }

  private watchSilence(event: Provenance, before: Mark, advance: number, gaps: Gap[]): void {
    const elapsed = event.received - Math.max(before.received, this.lastFrame)
    if (this.gap !== undefined || !this.silence.isSilent(elapsed, advance)) return
    // The numbers go on: nothing was lost, the venue was silent. The book stays open.
    const gap = this.gapFrom('venue_silent', event)
    gaps.push(endGap(gap, event.received, event.source ?? ABSENT, event.journal))
    this.assembler.markGap()
  }

  // The book is closed from the last good observation on, or from this message if there is none.
  private openGap(reason: GapReason, event: Provenance, gaps: Gap[]): void {
    this.assembler.close()
    if (this.gap !== undefined) return
    this.gap = this.gapFrom(reason, event)
    gaps.push(this.gap)
  }

  private gapFrom(reason: GapReason, event: Provenance): Gap {
    const source = this.last?.source ?? ABSENT
    return {
      venue: this.instrument.venue,
      scope: 'instrument',
      key: this.instrument.key,
      reason,
      start: (this.last?.received ?? event.received) as Micros,
      ...(source === ABSENT ? {} : { sourceStart: source as Micros }),
      afterSequence: this.sequence,
      journal: event.journal,
    }
  }

  private closeGap(first: Observation, gaps: Gap[]): void {
    if (this.gap === undefined) return
    gaps.push(endGap(this.gap, first.received, first.source, first.journal))
    this.gap = undefined
  }
}

function endGap(gap: Gap, received: number, source: number, journal: number): Gap {
  return {
    ...gap,
    end: received as Micros,
    ...(source === ABSENT ? {} : { sourceEnd: source as Micros }),
    endJournal: journal,
  }
}
