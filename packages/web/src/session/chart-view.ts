import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import { endOfBucket, fitRange, panRange, zoomRange, type Range } from '../model/range.ts'

// How long a range stands still before it is read and put into the address.
const SETTLE_MS = 150

/** What all charts of a page have in common: the span that they show, and one crosshair. */
export class ChartView {
  /** The span that the visitor chose; absent for everything. */
  readonly zoom = signal<Range | undefined>(undefined)
  /** The same as soon as it stands still. */
  readonly settled = signal<Range | undefined>(undefined)
  /** The instant of the crosshair; absent while nothing is pointed at. */
  readonly pointed = signal<number | undefined>(undefined)
  /** The length of the buckets that are drawn, and up to when they are known. */
  readonly sampled = signal({ step: 1, last: Infinity })
  readonly range: ReadonlySignal<Range | undefined>
  /** The range as soon as it stands still; what charts read. */
  readonly settledRange: ReadonlySignal<Range | undefined>
  private readonly whole: ReadonlySignal<Range | undefined>
  private readonly limits: ReadonlySignal<Range | undefined>
  private readonly dispose: () => void

  /** `whole` is shown at first; `limits` is how far the visitor can go, by default the same. */
  constructor(whole: ReadonlySignal<Range | undefined>, limits = whole, zoom?: Range) {
    this.whole = whole
    this.limits = limits
    this.zoom.value = this.settled.value = zoom
    this.range = computed(() => this.zoom.value ?? whole.value)
    this.settledRange = computed(() => this.settled.value ?? whole.value)
    this.dispose = effect(() => {
      const { value } = this.zoom
      const timer = setTimeout(() => (this.settled.value = value), SETTLE_MS)
      return () => clearTimeout(timer)
    })
  }

  close(): void {
    this.dispose()
  }

  /** Shows a range, or everything; false where it is shown already. */
  show(range: Range | undefined): boolean {
    const limits = this.limits.peek()
    const before = this.range.peek()
    if (limits === undefined || before === undefined) return false
    const next = range === undefined ? undefined : fitRange(range, limits)
    const isWhole = next !== undefined && isAlmost(next, this.whole.peek())
    batch(() => {
      this.zoom.value = isWhole ? undefined : next
      if (range === undefined) this.settled.value = undefined
    })
    return !isSame(before, this.range.peek())
  }

  /** Zooms around an instant; below 1 to a shorter span. */
  zoomAt(time: number, factor: number): boolean {
    const range = this.range.peek()
    const limits = this.limits.peek()
    if (range === undefined || limits === undefined) return false
    return this.show(zoomRange(range, time, factor, limits))
  }

  /** Zooms around the crosshair, or else around the middle. */
  zoomBy(factor: number): boolean {
    const { from, to } = this.range.peek() ?? { from: 0, to: 0 }
    return this.zoomAt(this.pointed.peek() ?? (from + to) / 2, factor)
  }

  /** Moves the span by a part of its length. */
  panBy(part: number): boolean {
    const range = this.range.peek()
    const limits = this.limits.peek()
    if (range === undefined || limits === undefined) return false
    return this.show(panRange(range, part * (range.to - range.from), limits))
  }

  /** Puts the crosshair to the end of the bucket of a time, where the sampled rows are exact. */
  point(time: number | undefined): void {
    const { step, last } = this.sampled.peek()
    this.pointed.value = time === undefined ? undefined : endOfBucket(time, step, last)
  }
}

// Whoever zooms out to the last pixel wants everything.
function isAlmost(range: Range, whole: Range | undefined): boolean {
  if (whole === undefined) return false
  const little = (whole.to - whole.from) / 1000
  return Math.abs(range.from - whole.from) < little && Math.abs(range.to - whole.to) < little
}

function isSame(a: Range | undefined, b: Range | undefined): boolean {
  return a?.from === b?.from && a?.to === b?.to
}
