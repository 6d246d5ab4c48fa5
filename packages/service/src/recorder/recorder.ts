import {
  PriorbookError,
  toMicros,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { untilAborted } from '../lib/wait.ts'
import type { AppendBatch, StoreWriter } from '../store/store.ts'
import type {
  CaptureLog,
  Connector,
  ConnectorContext,
  ConnectorStatus,
} from '../venues/capture/contract.ts'
import type { ApplyCounts } from './apply.ts'
import { createLagMeter, type LagMeter } from './lag.ts'
import { openVenueIntake, type VenueIntake } from './venue-intake.ts'

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
  /** Our wall clock; for tests of clock steps. */
  readonly now?: () => Micros
  /** Told of every batch once it is durable: the live hub. */
  readonly onStored?: (batch: AppendBatch) => void
  readonly journalLevel?: number
}

/** How one venue is doing. */
export type VenueStatus = {
  readonly connector: ConnectorStatus
  readonly counts: Readonly<ApplyCounts>
  readonly messages: number
  /** Books held now, and how many of them miss nothing. */
  readonly books: { readonly tracks: number; readonly open: number }
  readonly journalBytes: number
}

/** How the recorder is doing. */
export type RecorderStatus = {
  readonly since: Micros
  readonly venues: Readonly<Partial<Record<VenueId, VenueStatus>>>
  readonly lag: ReturnType<LagMeter['summary']>
  /** True while nothing can be written; messages are then counted and not kept. */
  readonly diskFull: boolean
  readonly refused: number
}

/** Records venues until it is stopped. */
export interface Recorder {
  run(signal: AbortSignal): Promise<void>
  status(): RecorderStatus
}

// Messages wait at most this long before they are made durable together.
const FLUSH_MS = 20
const FLUSH_RECORDS = 4096
const RETRY_MS = 500

/** Opens the journals, applies what a crash left unapplied, and is then ready to run. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const { store, log } = options
  const now = options.now ?? wallClock
  const lag = createLagMeter()
  const since = now()
  const intakes: VenueIntake[] = []
  for (const [venue, create] of Object.entries(options.connectors)) {
    intakes.push(
      await openVenueIntake({ ...options, venue: venue as VenueId, create, now, flushSoon }),
    )
  }
  let unsaved: readonly AppendBatch[] = []
  let diskFull = false
  let refused = 0
  let flushing: Promise<void> | undefined
  let wake: (() => void) | undefined

  function flushSoon(): void {
    wake?.()
  }

  /** Makes everything that was taken durable: raw messages first, then rows. */
  async function flush(): Promise<void> {
    try {
      for (const intake of intakes) intake.commit()
      if (unsaved.length === 0) unsaved = intakes.flatMap((intake) => intake.drain() ?? [])
      const batches = unsaved
      await Promise.all(batches.map((batch) => store.append(batch)))
      unsaved = []
      const stored = now()
      for (const batch of batches) options.onStored?.(batch)
      for (const intake of intakes) intake.stored(stored, lag)
      if (diskFull) resume()
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'disk_full') throw error
      stall(error)
    }
  }

  function stall(error: PriorbookError): void {
    if (diskFull) return
    diskFull = true
    log.error(
      { error: error.message },
      'the disk is full: nothing is recorded until there is space',
    )
    for (const intake of intakes) intake.refuse()
  }

  function resume(): void {
    diskFull = false
    for (const intake of intakes) refused += intake.accept()
    log.info({ refused }, 'there is space again: recording goes on')
  }

  async function flushLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, diskFull ? RETRY_MS : FLUSH_MS)
        wake = () => {
          if (diskFull || !intakes.some(({ pending }) => pending >= FLUSH_RECORDS)) return
          clearTimeout(timer)
          resolve()
        }
      })
      wake = undefined
      flushing = flush()
      await flushing
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    for (const intake of intakes) intake.start()
    const loop = flushLoop(stop.signal)
    // A failure of the loop is a failure of the recorder: without it nothing is kept.
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
      for (const intake of intakes) intake.stop()
      for (const intake of intakes) await intake.settled()
      await flush()
      for (const intake of intakes) intake.close()
    }
  }

  return {
    run,
    status() {
      const venues = Object.fromEntries(intakes.map((intake) => [intake.venue, intake.status()]))
      return { since, venues, lag: lag.summary(), diskFull, refused }
    },
  }
}

// The wall clock with microseconds: the millisecond clock, refined by the monotonic one between its steps.
let anchorWall = 0
let anchorMono = 0
function wallClock(): Micros {
  const mono = performance.now()
  const wall = Date.now()
  const fine = anchorWall + (mono - anchorMono)
  // Beyond 2 ms the wall clock was set, or this is the first call.
  if (Math.abs(fine - wall) > 2) {
    anchorWall = wall
    anchorMono = mono
    return toMicros(wall * 1000)
  }
  return toMicros(Math.round(fine * 1000))
}
