import type { ReadonlySignal } from '@preact/signals'
import type { GapSpan } from '../model/gap.ts'
import type { Range } from '../model/range.ts'
import type { ChartView } from './chart-view.ts'
import type { Moment } from './market-session.ts'

/** What plays a page through the past. */
export interface Player {
  readonly isPlaying: ReadonlySignal<boolean>
  readonly speed: ReadonlySignal<number>
  play(): void
  pause(): void
  setSpeed(speed: number): void
  /** Goes to the next row, or to the one before. */
  step(direction: 1 | -1): Promise<void>
}

/** A page that shows one instant: of one market, or of all markets of a contract. */
export interface TimeSession {
  /** From the first to the last instant that can be shown. */
  readonly extent: ReadonlySignal<Range | undefined>
  readonly present: ReadonlySignal<number>
  /** The instant that is asked for; absent at the present. */
  readonly time: ReadonlySignal<number | undefined>
  readonly clock: ReadonlySignal<number>
  /** The clock, as often as what it belongs to is drawn. */
  readonly throttledClock: ReadonlySignal<number>
  readonly isLive: ReadonlySignal<boolean>
  readonly isOpen: ReadonlySignal<boolean>
  readonly moment: ReadonlySignal<Moment>
  readonly replayer: Player
  seek(time: number): void
  goLive(): void
}

/** What charts and time controls draw: an instant, a span and its gaps. */
export interface TimeStore {
  readonly session: TimeSession
  readonly view: ChartView
  readonly range: ReadonlySignal<Range | undefined>
  readonly gaps: ReadonlySignal<readonly GapSpan[]>
}
