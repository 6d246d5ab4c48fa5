import type { Gap } from '@priorbook/sdk/domain'

/** The gaps of one market in the order of a walk; each is handed out once, before the row after it. */
export class GapQueue {
  private readonly waiting: Gap[]
  private readonly seen = new Set<string>()

  constructor(gaps: readonly Gap[]) {
    this.waiting = []
    this.add(gaps)
  }

  /** Adds gaps that reading brought to light, such as damaged chunks. */
  add(gaps: readonly Gap[]): void {
    for (const gap of gaps) {
      const name = `${gap.scope}/${gap.key}/${gap.start}/${gap.afterSequence}/${gap.reason}`
      if (this.seen.has(name)) continue
      this.seen.add(name)
      this.waiting.push(gap)
    }
    this.waiting.sort((a, b) => a.start - b.start || a.afterSequence - b.afterSequence)
  }

  /** Whether the next gap lies before a row; of an observation the sequence decides where times tie. */
  isBefore(received: number, key: string, sequence: number): boolean {
    const gap = this.waiting[0]
    if (gap === undefined) return false
    if (received !== gap.start) return received > gap.start
    return gap.scope === 'instrument' && gap.key === key && sequence > gap.afterSequence
  }

  /** Takes the next gap. */
  take(): Gap | undefined {
    return this.waiting.shift()
  }
}
