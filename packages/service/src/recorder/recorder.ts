import { PriorbookError, type Micros, type Origin, type VenueId } from '@priorbook/sdk/domain'
import type { JournalWriterOptions } from '../journal/index.ts'
import { SYSTEM_CLOCK, type Clock } from '../lib/clock.ts'
import { SerialQueue } from '../lib/serial-queue.ts'
import { createWallClock } from '../lib/wall-clock.ts'
import type { SpanAttributes, Tracing } from '../lib/tracing.ts'
import { untilAborted } from '../lib/wait.ts'
import type { AppendBatch, StoreReader, StoreWriter } from '../store/store.ts'
import type { CaptureLog, Connector, ConnectorContext } from '../venues/capture/contract.ts'
import type { SelectionOptions } from '../venues/capture/selection/selection.ts'
import { openIntake, type Intake, type VenueStatus } from './intake.ts'
import { LagMeter, type LagSummary } from './lag.ts'
import type { TakenTape, TakeoverTarget } from './taken-tape.ts'

/** What a recorder needs. */
export type RecorderOptions = {
  readonly store: StoreWriter
  readonly journalDir: string
  readonly origin: Origin
  /** Names this recorder on every journal file and chunk. */
  readonly recorder: string
  readonly log: CaptureLog
  /** The connectors by venue; a venue that is not here is not recorded. */
  readonly connectors: Readonly<Partial<Record<VenueId, (context: ConnectorContext) => Connector>>>
  /** The system's by default. */
  readonly clock?: Clock
  /** Called with every batch once it is durable: the live hub. */
  readonly onStored?: (batch: AppendBatch) => void
  readonly journalLevel?: number
  /** The most that one file of a venue's journal holds: retention removes whole files. */
  segments?(venue: VenueId): Pick<JournalWriterOptions, 'segmentBytes' | 'segmentMicros'>
  /** The venues that another recorder goes on with at once, so that the end of this one is no gap. */
  readonly successors?: () => Promise<ReadonlySet<VenueId>>
  /** Gives work the store that has what earlier runs left; by default `store`. */
  readonly withEarlier?: <T>(work: (store: StoreReader) => Promise<T>) => Promise<T>
  /** Where commits and polls are traced; absent for nowhere. */
  readonly tracing?: Tracing
}

/** The state of a recorder. */
export type RecorderStatus = {
  readonly since: Micros
  readonly venues: Readonly<Partial<Record<VenueId, VenueStatus>>>
  readonly lag: LagSummary
  /** True while nothing can be written; messages are then counted and not kept. */
  readonly diskFull: boolean
  readonly refused: number
}

/** Records venues until it is stopped. */
export interface Recorder {
  run(signal: AbortSignal): Promise<void>
  status(): RecorderStatus
  /** Takes other rules of selection for a venue. */
  select(venue: VenueId, selection: SelectionOptions): void
  /**
   * Goes on in a tape that another recorder wrote, where its last row was, without a gap in the books for which
   * that can be proved. Sockets stay open. The store and journal from before may be removed afterwards.
   */
  takeOver(target: TakeoverTarget): Promise<void>
}

/**
 * Max time that messages wait before they are made durable together, and how many rows make a commit begin at once. Nothing is
 * received while rows are written, so that more of them at a time would make other messages wait longer.
 */
const FLUSH_MS = 20
const FLUSH_ROWS = 1024
/** How often a full disk is tried again. */
const RETRY_MS = 500

/** Opens the journals, applies what a crash left unapplied, and is then ready to run. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const { clock = RECORDER_CLOCK } = options
  const recorder = new JournalingRecorder(options, clock)
  for (const [venue, create] of Object.entries(options.connectors)) {
    const flushSoon = (): void => recorder.flushSoon()
    recorder.intakes.push(
      await openIntake({ ...options, venue: venue as VenueId, create, clock, flushSoon }),
    )
  }
  return recorder
}

class JournalingRecorder implements Recorder {
  readonly intakes: Intake[] = []
  private readonly options: RecorderOptions
  private readonly clock: Clock
  private readonly since: Micros
  private readonly lag: LagMeter
  private store: StoreWriter
  /** Flushes and takeovers, one after the other. */
  private readonly turns = new SerialQueue()
  /** Drained batches that the store has not accepted yet. */
  private unsaved: readonly AppendBatch[] = []
  private isDiskFull = false
  private refused = 0
  private wake: (() => void) | undefined

  constructor(options: RecorderOptions, clock: Clock) {
    this.options = options
    this.store = options.store
    this.clock = clock
    this.lag = new LagMeter(clock)
    this.since = clock.now()
  }

  async run(signal: AbortSignal): Promise<void> {
    const { intakes } = this
    const stop = new AbortController()
    for (const intake of intakes) intake.start()
    const loop = this.flushLoop(stop.signal)
    // Without the loop nothing is kept, so its failure ends the recorder.
    const failed = loop.then(() => new Promise<never>(() => undefined))
    try {
      await Promise.race([
        Promise.all(intakes.map(({ connector }) => connector.run(signal))),
        failed,
      ])
      if (!signal.aborted) await Promise.race([untilAborted(signal), failed])
    } finally {
      stop.abort()
      await loop.catch(() => undefined)
      const continued = await this.options.successors?.()
      for (const intake of intakes) intake.stop(continued?.has(intake.venue) === true)
      for (const intake of intakes) await intake.settled()
      await this.turns.run(() => this.flush())
      for (const intake of intakes) intake.close()
    }
  }

  status(): RecorderStatus {
    const { since, lag, isDiskFull: diskFull, refused } = this
    const venues = Object.fromEntries(this.intakes.map((intake) => [intake.venue, intake.status()]))
    return { since, venues, lag: lag.summary(), diskFull, refused }
  }

  select(venue: VenueId, selection: SelectionOptions): void {
    this.intakes.find((intake) => intake.venue === venue)?.connector.select?.(selection)
  }

  async takeOver(target: TakeoverTarget): Promise<void> {
    const { intakes } = this
    const takeovers: TakenTape[] = []
    try {
      for (const intake of intakes) takeovers.push(await intake.prepareTakeover(target))
      await this.turns.run(async () => {
        while (intakes.some(({ isBusy }) => isBusy)) {
          for (const intake of intakes) await intake.settled()
        }
        // All of them in one turn: afterwards there is one store.
        const rests = intakes.map((intake, at) => intake.readRest(takeovers[at]!))
        for (const [at, intake] of intakes.entries()) {
          intake.finishTakeover(takeovers[at]!, rests[at]!)
        }
        takeovers.length = 0
        this.store = target.store
        this.unsaved = []
      })
    } catch (error) {
      for (const takeover of takeovers) takeover.abandon()
      throw error
    }
    for (const intake of intakes) await intake.settled()
    await this.turns.run(() => this.flush())
    for (const intake of intakes) await intake.recoverTakenOver()
  }

  /** Flushes at once if many rows wait. */
  flushSoon(): void {
    this.wake?.()
  }

  private async flushLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = this.clock.setTimeout(resolve, this.isDiskFull ? RETRY_MS : FLUSH_MS)
        this.wake = () => {
          if (this.isDiskFull) return
          if (!this.intakes.some(({ pending }) => pending >= FLUSH_ROWS)) return
          timer.cancel()
          resolve()
        }
      })
      this.wake = undefined
      await this.turns.run(() => this.flush())
    }
  }

  /** Makes everything received durable: raw messages first, then rows. */
  private async flush(): Promise<void> {
    const { intakes, options } = this
    try {
      for (const intake of intakes) intake.commit()
      if (this.unsaved.length === 0) {
        this.unsaved = intakes.flatMap((intake) => intake.drain() ?? [])
      }
      const batches = this.unsaved
      const span = batches.length === 0 ? undefined : options.tracing?.span('recorder commit')
      await Promise.all(batches.map((batch) => this.store.append(batch))).catch(
        (error: unknown) => {
          span?.end({}, String(error))
          throw error
        },
      )
      span?.end(toAttributes(batches))
      this.unsaved = []
      const stored = this.clock.now()
      for (const batch of batches) options.onStored?.(batch)
      for (const intake of intakes) intake.stored(stored, this.lag)
      if (this.isDiskFull) this.resume()
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'disk_full') throw error
      this.stall(error)
    }
  }

  private stall({ message }: PriorbookError): void {
    if (this.isDiskFull) return
    this.isDiskFull = true
    const text = 'the disk is full: nothing is recorded until there is space'
    this.options.log.error({ error: message }, text)
    for (const intake of this.intakes) intake.refuse()
  }

  private resume(): void {
    this.isDiskFull = false
    for (const intake of this.intakes) this.refused += intake.accept()
    const { refused } = this
    this.options.log.info({ refused }, 'there is space again: recording continues')
  }
}

function toAttributes(batches: readonly AppendBatch[]): SpanAttributes {
  const count = (of: (batch: AppendBatch) => readonly unknown[] | undefined): number =>
    batches.reduce((sum, batch) => sum + (of(batch)?.length ?? 0), 0)
  return {
    'priorbook.observations': count(({ observations }) => observations),
    'priorbook.trades': count(({ trades }) => trades),
    'priorbook.samples': count(({ samples }) => samples),
  }
}

const RECORDER_CLOCK: Clock = { ...SYSTEM_CLOCK, now: createWallClock() }
