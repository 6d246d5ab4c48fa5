import { batch, signal, type ReadonlySignal } from '@preact/signals'

/** How animation frames are requested; tests pass their own. */
export type Frames = {
  request(callback: (now: number) => void): number
  cancel(handle: number): void
}

const PAGE: Frames = {
  request: (callback) => requestAnimationFrame(callback),
  cancel: (handle) => cancelAnimationFrame(handle),
}

// Min time between two refreshes of the ladders: three frames of 1/60 s, less the jitter of a frame.
const LADDERS_MS = 42
// Min time from a refresh of the ladders to one of the figures: two frames, less the jitter.
const APART_MS = 25
// Min time between two refreshes of the figures.
const FIGURES_MS = 120

/**
 * Decides when the page shows changes, however many rows arrive: ladders at most every third frame,
 * figures and lists a few times a second and never within two frames of the ladders, so that no frame
 * takes long.
 */
export class RefreshSchedule {
  /** Counts the refreshes of the ladders. */
  readonly ladders: ReadonlySignal<number>
  /** Counts the refreshes of figures and lists. */
  readonly figures: ReadonlySignal<number>
  private readonly ladderCount = signal(0)
  private readonly figureCount = signal(0)
  private readonly onFigures: () => void
  private readonly frames: Frames
  private frame = 0
  private laddersAt = -Infinity
  private figuresAt = -Infinity
  private areLaddersDue = false
  private areFiguresDue = false

  /** `onFigures` runs with every refresh of the figures, in the same batch. */
  constructor(onFigures: () => void, frames = PAGE) {
    this.onFigures = onFigures
    this.frames = frames
    this.ladders = this.ladderCount
    this.figures = this.figureCount
  }

  /** A book changed: ladders and figures are due. */
  bookChanged(): void {
    this.areLaddersDue = true
    this.figuresChanged()
  }

  /** A figure changed, such as the clock. */
  figuresChanged(): void {
    this.areFiguresDue = true
    this.requestFrame()
  }

  /** Refreshes the ladders at once, such as after a jump to another instant. */
  refreshNow(): void {
    this.ladderCount.value++
  }

  close(): void {
    this.frames.cancel(this.frame)
    this.frame = -1
  }

  private requestFrame(): void {
    if (this.frame !== 0) return
    this.frame = this.frames.request((now) => {
      this.frame = 0
      this.refresh(now)
    })
  }

  private refresh(now: number): void {
    const sinceLadders = now - this.laddersAt
    if (this.areFiguresDue && sinceLadders > APART_MS && now - this.figuresAt > FIGURES_MS) {
      this.figuresAt = now
      this.areFiguresDue = false
      batch(() => {
        this.figureCount.value++
        this.onFigures()
      })
    } else if (this.areLaddersDue && sinceLadders > LADDERS_MS) {
      this.laddersAt = now
      this.areLaddersDue = false
      this.ladderCount.value++
    }
    if (this.areLaddersDue || this.areFiguresDue) this.requestFrame()
  }
}
