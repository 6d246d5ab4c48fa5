import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import type { FullRow, MarketRef, NoticeJson } from '@priorbook/sdk/client'
import { key } from '../app/key.ts'
import type { Panel } from '../app/panel.ts'
import { pause, toTrouble, type Trouble } from '../app/trouble.ts'
import { ReplayClock } from '../model/replay-clock.ts'
import { microsOf } from '../model/time.ts'
import type { RefreshSchedule } from './refresh-schedule.ts'
import type { ReplayChanges } from './replay-books.ts'
import { openReplayFeed, ReplayFailure } from './replay-feed.ts'

/** Replay speeds, as multiples of real time. */
export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60, 300] as const

// How often books are requested where no socket plays them.
const REQUEST_MS = 200

/** The page that a replayer moves through the past. */
export interface ReplayTarget {
  readonly ref: MarketRef
  readonly marketRef: MarketRef
  readonly refSource: string
  readonly panels: { readonly book: Panel }
  readonly options: { readonly signal: AbortSignal }
  /** The instant shown; absent at the present. */
  readonly time: Signal<number | undefined>
  readonly clock: ReadonlySignal<number>
  readonly present: ReadonlySignal<number>
  readonly extent: ReadonlySignal<{ readonly from: number; readonly to: number } | undefined>
  readonly bookNotices: Signal<readonly NoticeJson[]>
  readonly refresh: RefreshSchedule
  putBooks(rows: Iterable<FullRow & { readonly id: string }>): void
  applyChanges(changes: ReplayChanges): void
  loadPastTrades(at: number): Promise<void>
}

/** Moves the page through the past: to an instant by REST, forward over the socket. */
export class Replayer {
  readonly isPlaying = signal(false)
  readonly speed = signal(1)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** True while the books of the instant are being requested. */
  readonly isSeeking = signal(false)
  private readonly session: ReplayTarget
  private playing: AbortController | undefined
  private wanted: number | undefined
  private isRequesting = false
  private playAfter = false
  private frame = 0

  constructor(session: ReplayTarget) {
    this.session = session
  }

  /** Shows the books of an instant. While a request is running only the newest instant is kept. */
  seek(time: number): void {
    const wasPlaying = this.isPlaying.peek()
    this.halt()
    const whole = Math.round(time)
    this.session.time.value = whole
    this.wanted = whole
    if (!this.isRequesting) void this.request(wasPlaying)
    else this.playAfter = wasPlaying
  }

  /** Plays from the instant on. */
  play(): void {
    const { session } = this
    const { value: extent } = session.extent
    const from = session.time.peek() ?? extent?.from
    if (from === undefined || extent === undefined) return
    const to = Math.max(extent.to, session.present.peek())
    const start = from >= to ? extent.from : from
    this.halt()
    this.isPlaying.value = true
    this.trouble.value = undefined
    session.time.value = start
    // Books of an instant that are on their way would replace newer ones of the replay.
    if (this.isRequesting) this.playAfter = true
    else void this.run(start, to + 1)
  }

  pause(): void {
    if (!this.isPlaying.peek()) return
    this.halt()
    // A page at rest shows exactly the API's answer for the instant.
    if (this.session.time.peek() !== undefined) this.seek(this.session.time.peek()!)
  }

  setSpeed(speed: number): void {
    this.speed.value = speed
    if (this.isPlaying.peek()) this.play()
  }

  stop(): void {
    this.halt()
    this.wanted = undefined
  }

  /** Goes to the next row, or to the one before. */
  async step(direction: 1 | -1): Promise<void> {
    this.halt()
    const { session } = this
    const at = session.clock.peek()
    const { client, note } = session.panels.book
    const params =
      direction === 1
        ? ({ start_time: Math.round(at) + 1, limit: 1, order: 'asc' } as const)
        : ({ end_time: Math.round(at), limit: 1, order: 'desc' } as const)
    note(`client.market(${session.refSource}).snapshots`, params)
    try {
      const page = await client
        .market(session.marketRef)
        .snapshots({ ...params, include_orderbook: false }, session.options)
        .page()
      const [row] = page.data
      if (row !== undefined) this.seek(microsOf(row.received_time))
    } catch (error) {
      if (!session.options.signal.aborted) this.trouble.value = toTrouble(error)
    }
  }

  private halt(): void {
    this.isPlaying.value = false
    this.playAfter = false
    this.playing?.abort()
    this.playing = undefined
    cancelAnimationFrame(this.frame)
  }

  private async request(playAfter: boolean): Promise<void> {
    const { session } = this
    this.isRequesting = true
    this.isSeeking.value = true
    this.playAfter = playAfter
    try {
      while (this.wanted !== undefined) {
        const at = this.wanted
        this.wanted = undefined
        const { client, note } = session.panels.book
        note(`client.market(${session.refSource}).asOf`, { at })
        const answer = await client.market(session.marketRef).asOf({ at }, session.options)
        if (session.time.peek() === undefined) return
        if (this.wanted === undefined) void session.loadPastTrades(at).catch(() => undefined)
        batch(() => {
          session.putBooks(answer.data)
          session.bookNotices.value = answer.notices
          session.refresh.refreshNow()
          this.trouble.value = undefined
        })
      }
    } catch (error) {
      if (!session.options.signal.aborted) this.trouble.value = toTrouble(error)
    } finally {
      this.isRequesting = false
      this.isSeeking.value = false
    }
    if (this.playAfter && session.time.peek() !== undefined) this.play()
  }

  private async run(from: number, to: number): Promise<void> {
    const { session } = this
    const { venue, market_id } = session.ref
    const speed = this.speed.peek()
    const playing = (this.playing = new AbortController())
    const { signal } = playing
    let clock: ReplayClock | undefined
    // The clock starts with the first row; otherwise it would run ahead of the books.
    const begin = (): ReplayClock => {
      if (clock !== undefined) return clock
      clock = new ReplayClock(from, performance.now(), speed)
      this.tick(clock, to)
      return clock
    }
    try {
      const params = {
        markets: [{ venue, market_id }],
        start_time: Math.round(from),
        end_time: Math.round(to),
        speed,
        mode: 'changes',
        datasets: ['books', 'trades'],
        number_format: 'string',
        time_format: 'epoch_us',
      } as const
      for await (const changes of openReplayFeed({ key: key.peek(), params }, signal)) {
        if (signal.aborted) return
        const running = begin()
        const now = performance.now()
        if (changes.time !== undefined) running.noteRow(changes.time, now)
        batch(() => {
          session.time.value = running.at(now)
          session.applyChanges(changes)
        })
        // The next request waits until the page has drawn and had a frame for other work.
        await frames(2)
      }
      if (!signal.aborted) this.finish(to)
    } catch (error) {
      if (signal.aborted || session.options.signal.aborted) return
      const trouble = error instanceof ReplayFailure ? error.trouble : toTrouble(error)
      // Without a socket, books are requested one after another: coarser, but it plays.
      if (trouble.code === 'network_failed') {
        begin()
        await this.runByRequests(signal)
      } else {
        this.halt()
        this.trouble.value = trouble
      }
    }
  }

  private async runByRequests(playing: AbortSignal): Promise<void> {
    const { session } = this
    while (!playing.aborted) {
      const at = Math.round(session.clock.peek())
      try {
        const { client } = session.panels.book
        const answer = await client.market(session.marketRef).asOf({ at }, session.options)
        if (playing.aborted) return
        session.putBooks(answer.data)
        session.bookNotices.value = answer.notices
        session.refresh.refreshNow()
      } catch {
        if (session.options.signal.aborted) return
      }
      await pause(REQUEST_MS, playing)
    }
  }

  private tick(clock: ReplayClock, to: number): void {
    this.frame = requestAnimationFrame(() => {
      if (!this.isPlaying.peek()) return
      // Not the time of the frame: a row may have come since, and the clock must not go back behind it.
      const time = clock.at(performance.now())
      if (time >= to) {
        this.finish(to)
        return
      }
      this.session.time.value = time
      this.session.refresh.figuresChanged()
      this.tick(clock, to)
    })
  }

  private finish(to: number): void {
    this.halt()
    this.seek(to - 1)
  }
}

async function frames(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(requestAnimationFrame)
}
