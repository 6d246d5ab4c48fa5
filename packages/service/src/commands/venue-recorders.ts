import { fork, type ChildProcess } from 'node:child_process'
import { PriorbookError, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK } from '../lib/clock.ts'
import { RestartPause } from '../lib/restart-pause.ts'
import { sendToChild } from '../lib/send-to-child.ts'
import { siblingModule } from '../lib/sibling-module.ts'
import { sleep } from '../lib/wait.ts'
import type { LagSummary } from '../recorder/lag.ts'
import type { Recorder, RecorderStatus } from '../recorder/recorder.ts'
import type { AppendBatch, StoreWriter } from '../store/store.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import type { SelectionOptions } from '../venues/capture/selection/selection.ts'
import type { OrderMessage, VenueMessage, VenueOrder } from './venue-recorder-child.ts'
import { fromRefusal, toRefusal } from './venue-refusal.ts'

const ENTRY = siblingModule('venue-recorder-child', import.meta.url)
// As a process has that only records.
const YOUNG_GENERATION = '--max-semi-space-size=64'
const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000
// What a process may take to store what it has when the service stops.
const KILL_MS = 30_000

/** What the processes share: the store that this process writes, and the order without its venue. */
export type VenueRecordersOptions = {
  readonly store: StoreWriter
  readonly venues: readonly VenueId[]
  readonly order: Omit<VenueOrder, 'venue'>
  readonly log: CaptureLog
}

/**
 * Records every venue in a process of its own, for more messages than one core can take. Each has its sockets, its
 * journal and its books; the rows come here, because a tape has one writer. A process that dies is replaced: its
 * venue has a gap, the others have none.
 */
export class VenueRecorders implements Recorder {
  readonly #options: VenueRecordersOptions
  readonly #since: Micros = SYSTEM_CLOCK.now()
  readonly #children = new Map<VenueId, ChildProcess>()
  readonly #statuses = new Map<VenueId, RecorderStatus>()
  readonly #selections = new Map<VenueId, SelectionOptions>()

  constructor(options: VenueRecordersOptions) {
    this.#options = options
  }

  /** Rejects where a process cannot begin; one that ends later is started again. */
  async run(signal: AbortSignal): Promise<void> {
    const failed = new AbortController()
    const all = AbortSignal.any([signal, failed.signal])
    const running = this.#options.venues.map(async (venue) => {
      try {
        await this.#keepRunning(venue, all)
      } catch (error) {
        failed.abort()
        throw error
      }
    })
    const ends = await Promise.allSettled(running)
    for (const end of ends) if (end.status === 'rejected') throw end.reason as Error
  }

  status(): RecorderStatus {
    const all = [...this.#statuses.values()]
    return {
      since: this.#since,
      venues: Object.assign({}, ...all.map(({ venues }) => venues)) as RecorderStatus['venues'],
      lag: all.map(({ lag }) => lag).reduce(worseLag, NO_LAG),
      diskFull: all.some(({ diskFull }) => diskFull),
      refused: all.reduce((sum, { refused }) => sum + refused, 0),
    }
  }

  select(venue: VenueId, selection: SelectionOptions): void {
    this.#selections.set(venue, selection)
    const child = this.#children.get(venue)
    if (child !== undefined) send(child, { kind: 'select', selection })
  }

  async takeOver(): Promise<void> {
    throw new PriorbookError('invalid_config', 'a process of a venue cannot take over a tape')
  }

  async #keepRunning(venue: VenueId, signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    let hasRecorded = false
    const pause = new RestartPause(MIN_PAUSE_MS, MAX_PAUSE_MS)
    while (!signal.aborted) {
      const begun = performance.now()
      const { error, ...why } = await this.#runChild(venue, signal, () => (hasRecorded = true))
      if (signal.aborted) return
      if (!hasRecorded) throw error ?? new PriorbookError('store_unavailable', endText(venue))
      const pauseMs = pause.after(performance.now() - begun)
      this.#noteEnd(venue)
      const fields = { venue, ...why, ...(error && { error: error.message }), pauseMs }
      log.error(fields, 'the process of a venue ended; another one starts')
      await sleep(pauseMs, signal)
    }
  }

  // Until the next process tells its status, the venue has no open book.
  #noteEnd(venue: VenueId): void {
    const last = this.#statuses.get(venue)
    const own = last?.venues[venue]
    if (last === undefined || own === undefined) return
    const detail = 'its process ended; another one starts'
    const connector = { ...own.connector, state: 'starting', detail, sockets: [] } as const
    const books = { ...own.books, open: 0 }
    this.#statuses.set(venue, { ...last, venues: { [venue]: { ...own, connector, books } } })
  }

  async #runChild(venue: VenueId, signal: AbortSignal, onRecording: () => void): Promise<End> {
    const child = fork(ENTRY, [], { execArgv: [YOUNG_GENERATION], serialization: 'advanced' })
    this.#children.set(venue, child)
    let error: Error | undefined
    const appends = new Set<Promise<void>>()
    const ended = new Promise<End>((done) => {
      // All that it sent is read by then.
      const read = new Promise((resolve) => void child.once('disconnect', resolve))
      child.once('exit', (code, ending) => {
        void read.then(() => done({ code, signal: ending, error }))
      })
      // Where it cannot even start, there is no exit.
      child.once('error', (cause) => done({ code: null, signal: null, error: cause }))
    })
    child.on('message', (message: VenueMessage) => {
      switch (message.kind) {
        case 'append': {
          const append = this.#append(child, message.id, message.batch)
          appends.add(append)
          void append.then(() => appends.delete(append))
          break
        }
        case 'status':
          onRecording()
          this.#statuses.set(venue, message.status)
          break
        case 'log':
          this.#options.log[message.level](message.fields, message.message)
          break
        case 'failed':
          error = fromRefusal(message)
          break
      }
    })
    const stopped = new AbortController()
    const stop = (): void => {
      send(child, { kind: 'stop' })
      void sleep(KILL_MS, stopped.signal).then(() => child.kill('SIGKILL'))
    }
    send(child, { kind: 'start', order: { ...this.#options.order, venue } })
    const selection = this.#selections.get(venue)
    if (selection !== undefined) send(child, { kind: 'select', selection })
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      this.#options.log.info({ venue, pid: child.pid }, 'a process records a venue')
      const end = await ended
      // The next process goes on after the last row of this one.
      await Promise.all(appends)
      return end
    } finally {
      signal.removeEventListener('abort', stop)
      stopped.abort()
      this.#children.delete(venue)
    }
  }

  async #append(child: ChildProcess, id: number, batch: AppendBatch): Promise<void> {
    try {
      await this.#options.store.append(batch)
      send(child, { kind: 'stored', id })
    } catch (error) {
      send(child, { kind: 'refused', id, ...toRefusal(error) })
    }
  }
}

/** How a process ended. */
type End = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly error: Error | undefined
}

const NO_LAG: LagSummary = {
  count: 0,
  p50Ms: 0,
  p99Ms: 0,
  maxMs: 0,
  totalCount: 0,
  totalMs: 0,
}

// Percentiles are those of the slower process.
function worseLag(left: LagSummary, right: LagSummary): LagSummary {
  return {
    count: left.count + right.count,
    p50Ms: Math.max(left.p50Ms, right.p50Ms),
    p99Ms: Math.max(left.p99Ms, right.p99Ms),
    maxMs: Math.max(left.maxMs, right.maxMs),
    totalCount: left.totalCount + right.totalCount,
    totalMs: left.totalMs + right.totalMs,
  }
}

function endText(venue: VenueId): string {
  return `the process that records ${venue} ended before it began`
}

const send: (child: ChildProcess, message: OrderMessage) => void = sendToChild
