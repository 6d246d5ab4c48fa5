import type { NoticeJson } from '../client/index.ts'
import type { CommandContext } from './command.ts'

/** Prints rows as JSON lines. */
export async function printJson({ io }: CommandContext, value: unknown): Promise<void> {
  await io.write(`${JSON.stringify(value)}\n`)
}

/** Prints lines. */
export async function printLines({ io }: CommandContext, lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await io.write(`${lines.join('\n')}\n`)
}

/** Prints the notices of an answer, each once. */
export function tellNotices(
  { io, options }: CommandContext,
  notices: readonly NoticeJson[],
  told: Set<string> = new Set(),
): void {
  if (options['quiet'] === true) return
  for (const { code, message } of notices) {
    if (told.has(code)) continue
    told.add(code)
    io.note(io.paint('dim', `note: ${message} (${code})`))
  }
}

/** A time as people read it: to the second, in UTC. */
export function shortTime(time: string | number | null | undefined): string {
  if (time === null || time === undefined) return '–'
  return typeof time === 'number' ? String(time) : `${time.slice(0, 10)} ${time.slice(11, 19)}`
}

/** A value that may be absent. */
export function shown(value: string | number | null | undefined): string {
  return value === null || value === undefined ? '–' : String(value)
}

/** Bytes as people read them. */
export function printBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`
}

/** A span of time as people read it. */
export function printSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
