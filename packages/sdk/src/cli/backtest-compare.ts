import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  compareReports,
  comparisonHtml,
  parseReport,
  ReportFileError,
  type Comparison,
  type Report,
} from '../backtest/index.ts'
import { layTable, UsageError, type CommandIo } from '../command-line/index.ts'
import { CliError } from './errors.ts'

// Max markets printed; `--out` and `--json` list more.
const PRINTED_MARKETS = 10

/** Compares two report files: prints the figures, and writes `comparison.html` into a folder where one is given. */
export async function compareReportFiles(options: {
  readonly files: readonly string[]
  readonly out: string | undefined
  readonly isJson: boolean
  readonly io: CommandIo
}): Promise<void> {
  const { files, out, isJson, io } = options
  const [left, right] = files
  if (left === undefined || right === undefined || files.length !== 2) {
    throw new UsageError(
      '--compare takes two reports',
      'Such as --compare a/report.json b/report.json.',
    )
  }
  const [first, second] = [readReport(left), readReport(right)]
  const comparison = compareReports(first, second)
  const names = shortNames(left, right)
  if (out !== undefined) {
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'comparison.html'), comparisonHtml(first, second, names))
  }
  await io.write(isJson ? `${JSON.stringify(comparison)}\n` : printComparison(comparison, names))
  if (out !== undefined) io.note(`${out}: comparison.html`)
}

function readReport(file: string): Report {
  if (!existsSync(file)) throw new CliError('not_found', `there is no file ${file}`)
  try {
    return parseReport(readFileSync(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof ReportFileError)) throw error
    throw new CliError('incomplete', `${file}: ${error.message}`, error.hint)
  }
}

// Reports have the same file name as a rule: their folders tell them apart.
function shortNames(left: string, right: string): [string, string] {
  const names = [left, right].map((file) => basename(file))
  if (names[0] !== names[1]) return [names[0]!, names[1]!]
  const folders = [left, right].map((file) => basename(dirname(file)))
  return folders[0] === folders[1] ? [left, right] : [folders[0]!, folders[1]!]
}

function printComparison(comparison: Comparison, names: readonly [string, string]): string {
  const { figures, differences, markets, confidence } = comparison
  const right = true
  const heads = [
    { head: names[0], right },
    { head: names[1], right },
    { head: 'difference', right },
  ]
  const rows = figures.map((each) => [each.name, each.first, each.second, each.difference])
  const parts = [layTable([{ head: '' }, ...heads], rows)]
  const { events, low, high, is_small: isSmall } = confidence
  parts.push([
    low === null || isSmall
      ? `too few events (${events}) for a band of the difference`
      : `difference of the result, 95 % of ${events} events resampled: ${low} to ${high}`,
  ])
  if (differences.length > 0) {
    const own = differences.map(([name, a, b]) => [name, a, b])
    parts.push(layTable([{ head: 'not in common' }, { head: names[0] }, { head: names[1] }], own))
  }
  if (markets.length > 0) {
    const listed = markets.slice(0, PRINTED_MARKETS)
    const own = listed.map((each) => [
      each.market,
      each.first ?? '–',
      each.second ?? '–',
      each.difference,
    ])
    const more = markets.length - listed.length
    parts.push([
      ...layTable([{ head: 'market' }, ...heads], own),
      ...(more > 0 ? [`${more} more`] : []),
    ])
  }
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`
}
