import type { Walk } from '../client/index.ts'
import { layTable, printLines, type Column, type CommandIo } from '../command-line/index.ts'
import { printJson, printNotices, type CliContext } from './command.ts'

/** Reads the first rows of a walk; with `--json` prints each at once instead of returning it. */
export async function readWalk<Row>(
  context: CliContext,
  walk: Walk<Row>,
  most: number,
): Promise<{ readonly rows: readonly Row[]; readonly count: number }> {
  const seen = new Set<string>()
  const rows: Row[] = []
  let count = 0
  for await (const page of walk.pages()) {
    printNotices(context, page.notices, seen)
    for (const row of page.data.slice(0, most - count)) {
      count++
      if (context.isJson) await printJson(context, row)
      else rows.push(row)
    }
    if (count >= most) break
  }
  return { rows, count }
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
