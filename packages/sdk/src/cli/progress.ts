import type { CliIo } from './io.ts'
import { printBytes, printSpan } from './words.ts'

const EVERY_MS = 100
const BAR = 24

/** A bar on standard error where it is a terminal, else a line every ten seconds. */
export class Progress {
  private readonly io: CliIo
  private readonly isQuiet: boolean
  private readonly total: number
  private readonly began = performance.now()
  private readonly from: number
  private drawn = 0

  constructor(io: CliIo, isQuiet: boolean, total: number, from: number) {
    this.io = io
    this.isQuiet = isQuiet
    this.total = total
    this.from = from
  }

  show(bytes: number): void {
    if (this.isQuiet) return
    const now = performance.now()
    if (now - this.drawn < (this.io.isErrorTty ? EVERY_MS : 100 * EVERY_MS)) return
    this.drawn = now
    this.draw(bytes)
  }

  /** Draws the last state and ends the line. */
  end(bytes: number): void {
    if (this.isQuiet || !this.io.isErrorTty) return
    this.draw(bytes)
    this.io.draw('\n')
  }

  private draw(bytes: number): void {
    const line = progressLine(bytes, this.total, this.from, performance.now() - this.began)
    if (this.io.isErrorTty) this.io.draw(`\r${line}\u001B[K`)
    else this.io.note(line)
  }
}

/** A bar, the bytes so far and in all, the rate, and the remaining time. */
export function progressLine(bytes: number, total: number, from: number, ms: number): string {
  const share = total === 0 ? 1 : Math.min(1, bytes / total)
  const rate = ((bytes - from) / Math.max(1, ms)) * 1000
  const left =
    rate > 0 && bytes < total ? `  ${printSpan(((total - bytes) / rate) * 1000)} left` : ''
  return `${progressBar(share)}  ${printBytes(bytes)} of ${printBytes(total)}  ${printBytes(Math.round(rate))}/s${left}`
}

/** A bar and its percentage, for a share from 0 to 1. */
export function progressBar(share: number): string {
  const full = Math.round(share * BAR)
  const bar = '█'.repeat(full) + '░'.repeat(BAR - full)
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %`
}
