import { batch, signal } from '@preact/signals'
import { key } from '../app/key.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import { ReplayClock } from '../model/replay-clock.ts'
import { microsOf } from '../model/time.ts'
import type { MarketSession } from './market-session.ts'
import { openReplayFeed, ReplayFailure } from './replay-feed.ts'

/** Speeds of the scrubber: recorded pace × N. */
export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60, 300] as const

/** Takes the page through the past: to an instant by REST, along it over the socket. */
export class Replayer {
  readonly isPlaying = signal(false)
  readonly speed = signal(1)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** True while the books of the instant are on their way. */
  readonly isSeeking = signal(false)
  private readonly session: MarketSession
  private playing: AbortController | undefined
  private asked: number | undefined
  private isAsking = false
  private frame = 0

  constructor(session: MarketSession) {
    this.session = session
  }

  /** Shows the books of an instant. While a question is under way only the newest wish is remembered. */
  seek(time: number): void {
    const wasPlaying = this.isPlaying.peek()
    this.halt()
    const whole = Math.round(time)
    this.session.time.value = whole
    this.asked = whole
    if (!this.isAsking) void this.ask(wasPlaying)
    else this.playAfter = wasPlaying
  }

  private playAfter = false

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
    void this.run(start, to + 1)
  }

  pause(): void {
    if (!this.isPlaying.peek()) return
    this.halt()
    // What the page shows at rest is what the interface answers for the instant.
    if (this.session.time.peek() !== undefined) this.seek(this.session.time.peek()!)
  }

  setSpeed(speed: number): void {
    this.speed.value = speed
    if (this.isPlaying.peek()) this.play()
  }

  stop(): void {
    this.halt()
    this.asked = undefined
  }

  /** Goes to the next observation, or to the one before. */
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
    this.playing?.abort()
    this.playing = undefined
    cancelAnimationFrame(this.frame)
  }

  private async ask(playAfter: boolean): Promise<void> {
    const { session } = this
    this.isAsking = true
    this.isSeeking.value = true
    this.playAfter = playAfter
    try {
      while (this.asked !== undefined) {
        const at = this.asked
        this.asked = undefined
        const { client, note } = session.panels.book
        note(`client.market(${session.refSource}).asOf`, { at })
        const answer = await client.market(session.marketRef).asOf({ at }, session.options)
        if (session.time.peek() === undefined) return
        if (this.asked === undefined) void session.loadPastTrades(at).catch(() => undefined)
        batch(() => {
          session.putBooks(answer.data)
          session.bookNotices.value = answer.notices
          session.turns.tellNow()
          this.trouble.value = undefined
        })
      }
    } catch (error) {
      if (!session.options.signal.aborted) this.trouble.value = toTrouble(error)
    } finally {
      this.isAsking = false
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
    // The clock starts with the rows: before them it would run ahead of the books.
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
      for await (const news of openReplayFeed({ key: key.peek(), params }, signal)) {
        if (signal.aborted) return
        const running = begin()
        if (news.time !== undefined) running.hear(news.time, performance.now())
        session.takeNews(news)
        // Asked again after the page drew it and had a frame for other things.
        await frames(2)
      }
      if (!signal.aborted) this.finish(to)
    } catch (error) {
      if (signal.aborted || session.options.signal.aborted) return
      const trouble = error instanceof ReplayFailure ? error.trouble : toTrouble(error)
      // Without a socket the books are asked for one after another; coarser, but it plays.
      if (trouble.code === 'network_failed') {
        begin()
        await this.runByAsking(signal)
      } else {
        this.halt()
        this.trouble.value = trouble
      }
    }
  }

  private async runByAsking(playing: AbortSignal): Promise<void> {
    const { session } = this
    while (!playing.aborted) {
      const at = Math.round(session.clock.peek())
      try {
        const { client } = session.panels.book
        const answer = await client.market(session.marketRef).asOf({ at }, session.options)
        if (playing.aborted) return
        session.putBooks(answer.data)
        session.bookNotices.value = answer.notices
        session.turns.tellNow()
      } catch {
        if (session.options.signal.aborted) return
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  private tick(clock: ReplayClock, to: number): void {
    this.frame = requestAnimationFrame((now) => {
      if (!this.isPlaying.peek()) return
      const time = clock.at(now)
      if (time >= to) {
        this.finish(to)
        return
      }
      this.session.time.value = time
      this.session.turns.stir()
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
