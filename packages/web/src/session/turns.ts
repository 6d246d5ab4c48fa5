import { batch, signal, type ReadonlySignal } from '@preact/signals'

/** What is told of a frame and how the next one is asked for; a page's own unless a test says otherwise. */
export type Frames = {
  request(turn: (now: number) => void): number
  cancel(handle: number): void
}

const PAGE: Frames = {
  request: (turn) => requestAnimationFrame(turn),
  cancel: (handle) => cancelAnimationFrame(handle),
}

// Three frames of a sixtieth of a second and two of them, less the jitter of a frame.
const TELL_MS = 42
const APART_MS = 25
const CALM_MS = 120

/**
 * When the page hears of changes, however many rows came: ladders at most every third frame, for no eye
 * reads faster; figures and lists a few times a second, and not within two frames of the ladders. So no
 * frame is long.
 */
export class Turns {
  /** Counts the turns of the ladders. */
  readonly told: ReadonlySignal<number>
  /** Counts the turns of what is read and not watched. */
  readonly calm: ReadonlySignal<number>
  private readonly toldCount = signal(0)
  private readonly calmCount = signal(0)
  private readonly onCalm: () => void
  private readonly frames: Frames
  private frame = 0
  private toldAt = -Infinity
  private calmAt = -Infinity
  private isChanged = false
  private isCalmDue = false

  /** `onCalm` runs in the turns of what is calm, in the same batch. */
  constructor(onCalm: () => void, frames = PAGE) {
    this.onCalm = onCalm
    this.frames = frames
    this.told = this.toldCount
    this.calm = this.calmCount
  }

  /** A book changed: ladders and figures get a turn. */
  changed(): void {
    this.isChanged = true
    this.stir()
  }

  /** Something that is calm changed, such as the clock. */
  stir(): void {
    this.isCalmDue = true
    this.plan()
  }

  /** A whole new state is there, such as that of another instant: ladders are told at once. */
  tellNow(): void {
    this.toldCount.value++
  }

  close(): void {
    this.frames.cancel(this.frame)
    this.frame = -1
  }

  private plan(): void {
    if (this.frame !== 0) return
    this.frame = this.frames.request((now) => {
      this.frame = 0
      this.turn(now)
    })
  }

  private turn(now: number): void {
    const sinceTold = now - this.toldAt
    if (this.isCalmDue && sinceTold > APART_MS && now - this.calmAt > CALM_MS) {
      this.calmAt = now
      this.isCalmDue = false
      batch(() => {
        this.calmCount.value++
        this.onCalm()
      })
    } else if (this.isChanged && sinceTold > TELL_MS) {
      this.toldAt = now
      this.isChanged = false
      this.toldCount.value++
    }
    if (this.isChanged || this.isCalmDue) this.plan()
  }
}
