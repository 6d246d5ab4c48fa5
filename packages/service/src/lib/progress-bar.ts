const WIDTH = 24
const EVERY_MS = 100

/** A progress line on a terminal; nothing where standard error is not one. */
export interface ProgressBar {
  update(done: number, total: number, text: string): void
  /** Removes the line. */
  end(): void
}

/** Makes a progress line that redraws at most ten times a second. */
export function createProgressBar(
  label: string,
  out: NodeJS.WriteStream = process.stderr,
): ProgressBar {
  let drawn = 0
  return {
    update(done, total, text) {
      const now = Date.now()
      if (!out.isTTY || now - drawn < EVERY_MS) return
      drawn = now
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const filled = Math.round(share * WIDTH)
      const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled)
      out.write(
        `\r\u001b[2K${label} ${bar} ${String(Math.floor(share * 100)).padStart(3)} % ${text}`,
      )
    },
    end() {
      if (out.isTTY && drawn > 0) out.write('\r\u001b[2K')
    },
  }
}
