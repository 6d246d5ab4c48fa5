import type { CommandIo } from '../command-line/index.ts'

/** A full-screen terminal. */
export interface Screen {
  show(lines: readonly string[]): void
  /** Restores the terminal. */
  close(): void
}

const ALTERNATE = '\u001B[?1049h'
const NORMAL = '\u001B[?1049l'
const HIDE_CURSOR = '\u001B[?25l'
const SHOW_CURSOR = '\u001B[?25h'
const HOME = '\u001B[H'
const CLEAR_LINE = '\u001B[K'
const CLEAR_BELOW = '\u001B[J'

/** Opens the full screen; q, Esc and Ctrl-C call `onQuit`. An unchanged picture is not redrawn. */
export function openScreen(io: CommandIo, onQuit: () => void): Screen {
  const { stdin, stdout } = process
  let last = ''
  const onKey = (data: Buffer): void => {
    const text = data.toString()
    // Esc alone; arrows and the like begin with it too.
    if (text === 'q' || text === 'Q' || text === '\u0003' || text === '\u001B') onQuit()
  }
  const onResize = (): void => {
    last = ''
    stdout.write(`${HOME}${CLEAR_BELOW}`)
  }
  void io.write(`${ALTERNATE}${HIDE_CURSOR}${HOME}${CLEAR_BELOW}`)
  const isRaw = stdin.isTTY
  if (isRaw) {
    stdin.setRawMode(true)
    stdin.resume()
    stdin.on('data', onKey)
  }
  stdout.on('resize', onResize)
  return {
    show(lines) {
      const { rows } = io.size()
      const text = lines.slice(0, rows).join(`${CLEAR_LINE}\r\n`)
      if (text === last) return
      last = text
      stdout.write(`${HOME}${text}${CLEAR_LINE}${CLEAR_BELOW}`)
    },
    close() {
      stdout.off('resize', onResize)
      if (isRaw) {
        stdin.off('data', onKey)
        stdin.setRawMode(false)
        stdin.pause()
      }
      stdout.write(`${SHOW_CURSOR}${NORMAL}`)
    },
  }
}
