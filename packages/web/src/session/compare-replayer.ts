import { batch, signal } from '@preact/signals'
import { VENUES } from '@priorbook/sdk/domain'
import { pause, toTrouble } from '../app/trouble.ts'
import { ReplayClock } from '../model/replay-clock.ts'
import { microsOf } from '../model/time.ts'
import type { CompareTarget } from './compare-target.ts'
import type { Player } from './time-store.ts'

// Min time between two instants of a replay. Each is read whole, so that all members are of one instant: three
// requests, of which a plan may allow 25 per second.
const EVERY_MS = 200

/** Plays all members of a contract together. */
export class CompareReplayer implements Player {
  readonly isPlaying = signal(false)
  readonly speed = signal(1)
  private readonly session: CompareTarget
  private playing: AbortController | undefined

  constructor(session: CompareTarget) {
    this.session = session
  }

  play(): void {
    const { session } = this
    const extent = session.extent.peek()
    if (extent === undefined) return
    const from = session.time.peek() ?? extent.from
    const start = from >= extent.to ? extent.from : from
    this.halt()
    batch(() => {
      this.isPlaying.value = true
      session.time.value = start
    })
    void this.run(start, extent.to)
  }

  pause(): void {
    if (!this.isPlaying.peek()) return
    const at = this.session.shown.peek()?.at ?? this.session.clock.peek()
    this.session.seek(at)
  }

  setSpeed(speed: number): void {
    this.speed.value = speed
    if (this.isPlaying.peek()) this.play()
  }

  /** Goes to the next row of any member, or to the one before. */
  async step(direction: 1 | -1): Promise<void> {
    const { session } = this
    this.halt()
    const at = Math.round(session.clock.peek())
    const range = direction === 1 ? { start_time: at + 1 } : { end_time: at }
    const order = direction === 1 ? 'asc' : 'desc'
    try {
      const found = await Promise.all(
        (session.contract.peek()?.members ?? []).map(async ({ venue, market_id, yes }) => {
          const { asset } = session.contract.peek()!
          const isPerToken = VENUES[venue].booksPer === 'token' && yes.token_id !== null
          const params = {
            ...range,
            limit: 1,
            order,
            include_orderbook: false,
            ...(isPerToken ? { token_id: yes.token_id } : {}),
          } as const
          const ref = { venue, market_id, ...(asset === null ? {} : { asset }) }
          const page = await session.panels.instant.client
            .market(ref)
            .snapshots(params, { signal: session.stopping.signal })
            .page()
          return page.data.map((row) => microsOf(row.received_time))
        }),
      )
      const times = found.flat()
      if (times.length > 0) session.seek(Math[direction === 1 ? 'min' : 'max'](...times))
    } catch (error) {
      if (!session.stopping.signal.aborted) session.instantTrouble.value = toTrouble(error)
    }
  }

  halt(): void {
    this.playing?.abort()
    this.playing = undefined
    this.isPlaying.value = false
  }

  private async run(from: number, to: number): Promise<void> {
    const { session } = this
    const playing = (this.playing = new AbortController())
    const { signal: stopped } = playing
    const clock = new ReplayClock(from, performance.now(), this.speed.peek())
    try {
      for (;;) {
        const started = performance.now()
        const at = Math.min(to, Math.round(clock.at(started)))
        const instant = await session.read(at, stopped)
        if (stopped.aborted) return
        // The clock shows the instant that has arrived, never one whose books are still on their way.
        batch(() => {
          session.time.value = at
          session.put(instant)
        })
        if (at >= to) break
        await pause(EVERY_MS - (performance.now() - started), stopped)
        if (stopped.aborted) return
      }
      this.halt()
    } catch (error) {
      if (stopped.aborted) return
      this.halt()
      session.instantTrouble.value = toTrouble(error)
    }
  }
}
