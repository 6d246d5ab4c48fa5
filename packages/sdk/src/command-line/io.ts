import { styleText } from 'node:util'
import { toPlain, toPlainLines } from './text.ts'

/** A style of the terminal. */
type Style = Parameters<typeof styleText>[0]

/** The terminal and environment of a command; tests pass their own. */
export interface CommandIo {
  /** Writes to standard output; resolves when there is room for more. */
  write(text: string | Uint8Array): Promise<void>
  /** Writes a line for people to standard error. */
  note(line: string): void
  /** Writes to standard error as it is: progress bars. */
  draw(text: string): void
  readonly isTty: boolean
  readonly isErrorTty: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Colours text where the terminal shows it. */
  readonly paint: (style: Style, text: string) => string
  size(): { readonly columns: number; readonly rows: number }
}

/** The standard streams of the process. */
export function createProcessIo(env: CommandIo['env'] = process.env): CommandIo {
  const { stdout, stderr } = process
  const hasColor = stdout.isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  return {
    async write(text) {
      if (stdout.write(text)) return
      await new Promise<void>((resolve) => stdout.once('drain', resolve))
    },
    note(line) {
      stderr.write(`${hasColor ? toPlainLines(line) : withoutColor(line)}\n`)
    },
    draw(text) {
      stderr.write(text)
    },
    isTty: stdout.isTTY,
    isErrorTty: stderr.isTTY,
    env,
    paint: (style, text) =>
      hasColor ? styleText(style, toPlain(text), { validateStream: false }) : text,
    size: () => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }),
  }
}

/** Writes lines to standard output. */
export async function printLines(io: CommandIo, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  const hasColor = io.paint('dim', 'x') !== 'x'
  const text = `${lines.join('\n')}\n`
  await io.write(hasColor ? toPlainLines(text) : withoutColor(text))
}

// Where nothing is coloured, a colour is not ours.
function withoutColor(text: string): string {
  return text.split('\n').map(toPlainButTabs).join('\n')
}

function toPlainButTabs(text: string): string {
  return text.split('\t').map(toPlain).join('\t')
}
