import type { NoticeJson, PriorbookClient, Walk } from '../client/index.ts'
import {
  flagOption,
  layTable,
  printLines,
  textOption,
  type Column,
  type Command,
  type CommandContext,
  type CommandIo,
  type OptionTable,
} from '../command-line/index.ts'

/** What `priorbook` adds to the context of its commands. */
export type CliExtra = {
  /** JSON lines instead of tables. */
  readonly isJson: boolean
  /** No notices and no progress. */
  readonly isQuiet: boolean
  /** Ends with Ctrl-C. */
  readonly signal: AbortSignal
  readonly service: ServiceAddress
  /** Created on first use: some commands need no server. */
  client(): PriorbookClient
}

/** The service of a call, and how to reach it. */
export type ServiceAddress = {
  readonly url: string
  readonly demo: boolean
  readonly key?: string
}

/** What a command of `priorbook` gets. */
export type CliContext<Options extends OptionTable = OptionTable> = CommandContext<Options> &
  CliExtra

/** Defines a command of `priorbook`. */
export function defineCommand<const Options extends OptionTable>(
  command: Command<CliExtra, Options>,
): Command<CliExtra, Options> {
  return command
}

/** Options that every command takes. */
export const COMMON_OPTIONS = {
  url: textOption('URL', 'The service; PRIORBOOK_URL, else http://127.0.0.1:8780.'),
  key: textOption('KEY', 'The API key; set PRIORBOOK_KEY instead to keep it out of process lists.'),
  demo: flagOption('Read demonstration data, without a key.'),
  json: flagOption('One JSON object per line instead of tables.'),
  'no-color': flagOption('No colours; NO_COLOR does the same.'),
  quiet: flagOption('No notices and no progress.', 'q'),
}

/** Prints a row as a JSON line. */
export async function printJson({ io }: CommandContext, value: unknown): Promise<void> {
  await io.write(`${JSON.stringify(value)}\n`)
}

/** Prints the notices of an answer; with `seen`, each once. */
export function printNotices(
  { io, isQuiet }: { readonly io: CommandIo; readonly isQuiet: boolean },
  notices: readonly NoticeJson[],
  seen: Set<string> = new Set(),
): void {
  if (isQuiet) return
  for (const { code, message } of notices) {
    if (seen.has(code)) continue
    seen.add(code)
    io.note(io.paint('dim', `note: ${message} (${code})`))
  }
}

/** A time to the second, in UTC. */
export function shortTime(time: string | number | null | undefined): string {
  if (time === null || time === undefined) return '–'
  return typeof time === 'number' ? String(time) : `${time.slice(0, 10)} ${time.slice(11, 19)}`
}

/** A value that may be absent. */
export function shown(value: string | number | null | undefined): string {
  return value === null || value === undefined ? '–' : String(value)
}

/** Reads the first listed rows of a walk; with `--json` prints each at once instead of returning it. */
export async function readWalk<Row>(
  context: CliContext,
  walk: Walk<Row>,
  most: number,
  isListed: (row: Row) => boolean = () => true,
): Promise<{ readonly rows: readonly Row[]; readonly count: number; readonly more: MoreRows }> {
  const seen = new Set<string>()
  const rows: Row[] = []
  let count = 0
  let more: MoreRows = { count: 0, isAll: true }
  for await (const page of walk.pages()) {
    printNotices(context, page.notices, seen)
    const listed = page.data.filter(isListed)
    const wanted = listed.slice(0, most - count)
    more = { count: listed.length - wanted.length, isAll: page.resume === null }
    for (const row of wanted) {
      count++
      if (context.isJson) await printJson(context, row)
      else rows.push(row)
    }
    if (count >= most) break
  }
  return { rows, count, more }
}

/** Rows that match and are not listed: how many were seen, and whether those are all. */
export type MoreRows = { readonly count: number; readonly isAll: boolean }

// How many rows beyond the listed ones are requested, to say how many more there are.
const COUNTED = 100
const MAX_PAGE = 1000

/** The page that a list of at most `most` rows requests: a table also counts what it leaves out. */
export function pageOf({ isJson }: Pick<CliExtra, 'isJson'>, most: number): number {
  return Math.min(isJson ? most : most + COUNTED, MAX_PAGE)
}

/** Says how many rows a table left out. */
export function noteMore(
  { io, isQuiet }: { readonly io: CommandIo; readonly isQuiet: boolean },
  { count, isAll }: MoreRows,
  most: number,
): void {
  if (isQuiet || (count === 0 && isAll)) return
  const text = isAll
    ? `${count} more: --limit ${most + count} lists them`
    : `${count === 0 ? 'there are' : `more than ${count}`} more: --limit lists more, a filter fewer`
  io.note(io.paint('dim', text))
}

/** Prints a table, on a terminal as wide as it. */
export async function printTable(
  io: CommandIo,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const [head, ...lines] = layTable(columns, rows, io.isTty ? io.size().columns : Infinity)
  await printLines(io, [io.paint('dim', head!), ...lines])
}
