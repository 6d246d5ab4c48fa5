import type { CommandIo } from './io.ts'

const EVERY_MS = 100
const WIDTH = 24

/** A line on standard error that shows how far a command is; redrawn at most ten times a second. */
export class ProgressBar {
  private readonly io: Pick<CommandIo, 'draw' | 'note' | 'isErrorTty'>
  private readonly label: string
  private readonly everyMs: number
  private drawn: number
  private isShown = false

  /** Where standard error is not a terminal, a line is printed every `lineMs`, by default never. */
  constructor(
    io: Pick<CommandIo, 'draw' | 'note' | 'isErrorTty'>,
    label: string,
    lineMs: number = Infinity,
  ) {
    this.io = io
    this.label = label === '' ? '' : `${label} `
    this.everyMs = io.isErrorTty ? EVERY_MS : lineMs
    this.drawn = io.isErrorTty ? -Infinity : performance.now()
  }

  /** Shows the share of `done` in `total`; without a known total only the text. */
  update(done: number, total: number | undefined, text: string): void {
    const now = performance.now()
    if (now - this.drawn < this.everyMs) return
    this.drawn = now
    this.draw(done, total, text)
  }

  /** Removes the line. */
  end(): void {
    if (this.io.isErrorTty && this.isShown) this.io.draw('\r\u001B[2K')
    this.isShown = false
  }

  /** Shows the last state and leaves it on the terminal. */
  finish(done: number, total: number | undefined, text: string): void {
    if (!this.io.isErrorTty) return
    this.draw(done, total, text)
    this.io.draw('\n')
  }

  private draw(done: number, total: number | undefined, text: string): void {
    const share = total === undefined ? '' : `${progressBar(done, total)}  `
    this.isShown = true
    const line = `${this.label}${share}${text}`
    if (this.io.isErrorTty) this.io.draw(`\r${line}\u001B[K`)
    else this.io.note(line)
  }
}

/** A bar and its percentage. */
export function progressBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.max(0, Math.min(1, done / total))
  const full = Math.round(share * WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(WIDTH - full)
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %`
}
