import type { CoverageJson } from '../../client/index.ts'
import {
  layTable,
  printCount,
  printLines,
  printSpan,
  type CommandIo,
} from '../../command-line/index.ts'
import { isMarketState } from '../../domain/index.ts'
import type {
  DatasetCoverageJson,
  DayCoverageJson,
  InstrumentCoverageJson,
} from '../../wire/index.ts'
import { defineCommand, printJson, printNotices, shortTime, shown } from '../command.ts'
import { CliError } from '../errors.ts'
import { parseMarket, present, VENUE_OPTION } from '../options.ts'

/** `coverage`: what was captured, as a table of datasets or the calendar of a market. */
export const COVERAGE = defineCommand({
  name: 'coverage',
  args: '[MARKET]',
  mostArgs: 1,
  about: 'Show what is recorded and since when; for a market, as a calendar.',
  options: VENUE_OPTION,
  examples: [
    'priorbook coverage',
    'priorbook coverage --venue venueb',
    'priorbook coverage venueb:KXBTC15M-26AUG111515-15',
  ],
  async run(context) {
    const { args, options, isJson, signal } = context
    const market = args[0] === undefined ? undefined : parseMarket(args[0])
    const venue = market?.venue ?? options.venue
    const params = present({ venue, market: market?.market_id })
    const answer = await context.client().coverage(params, { signal })
    printNotices(context, answer.notices)
    if (answer.data.length === 0) throw new CliError('empty', 'nothing is recorded of this')
    if (isJson) for (const row of answer.data) await printJson(context, row)
    else await print(context.io, answer.data)
  },
})

async function print(io: CommandIo, rows: readonly CoverageJson[]): Promise<void> {
  const datasets = rows.filter((row): row is DatasetCoverageJson => row.kind === 'dataset')
  if (datasets.length > 0) {
    const [head, ...lines] = layTable(COLUMNS, datasets.map(cellsOf))
    await printLines(io, [io.paint('dim', head!), ...lines])
  }
  const instruments = rows.filter((row): row is InstrumentCoverageJson => row.kind === 'instrument')
  for (const row of instruments) {
    const { observations, gaps, mean_spacing_ms: spacing, outcome } = row
    const lost = gaps.filter(({ reason }) => !isMarketState(reason)).length
    const pace = spacing === null ? '' : `, one every ${printSpan(Number(spacing))}`
    await printLines(io, [
      `${row.venue}:${row.market_id}${outcome === null ? '' : ` ${outcome}`}`,
      `${printCount(observations)} observations${pace}; ${lost} ${lost === 1 ? 'gap' : 'gaps'}`,
      `from ${shortTime(row.first_time)} to ${shortTime(row.last_time)} UTC`,
      ...layCalendar(row.days, io.paint),
      '',
    ])
  }
  if (instruments.length > 0) await printLines(io, [CALENDAR_LEGEND])
}

const COLUMNS = [
  { head: 'VENUE' },
  { head: 'DATASET' },
  { head: 'ASSETS' },
  { head: 'WINDOWS' },
  { head: 'FLOOR' },
  { head: 'FIRST DAY' },
  { head: 'RECORDED SINCE (UTC)' },
] as const

function cellsOf(row: DatasetCoverageJson): string[] {
  const floor = row.venue_floor === null ? '–' : String(row.venue_floor).slice(0, 10)
  return [
    row.venue,
    row.dataset,
    row.assets?.join(' ') ?? 'all',
    row.windows?.join(' ') ?? 'all',
    row.year_inferred ? `${floor} (year inferred)` : floor,
    shown(row.first_day),
    shortTime(row.capture_started_time),
  ]
}

const MARKS = { available: '█', degraded: '▒', missing: '·' } as const
const STYLES = { available: 'green', degraded: 'yellow', missing: 'red' } as const

/** What the marks mean. */
const CALENDAR_LEGEND = '█ available   ▒ degraded: with gaps   · missing'

/** Draws days as a calendar: one line per month, one column per day of the month. */
export function layCalendar(days: readonly DayCoverageJson[], paint: CommandIo['paint']): string[] {
  const byMonth = new Map<string, Map<number, DayCoverageJson['condition']>>()
  for (const { day, condition } of days) {
    const month = day.slice(0, 7)
    const cells = byMonth.get(month) ?? new Map<number, DayCoverageJson['condition']>()
    cells.set(Number(day.slice(8)), condition)
    byMonth.set(month, cells)
  }
  const lines = [paint('dim', `         ${HEAD}`.trimEnd())]
  for (const month of [...byMonth.keys()].sort()) {
    const cells = byMonth.get(month)!
    let text = ''
    for (let day = 1; day <= Math.max(...cells.keys()); day++) {
      const condition = cells.get(day)
      text += condition === undefined ? ' ' : paint(STYLES[condition], MARKS[condition])
    }
    lines.push(`${month}  ${text}`)
  }
  return lines
}

const HEAD = Array.from({ length: 31 }, (_, index) => {
  const day = index + 1
  return day === 1 || day % 5 === 0 ? String(day) : ''
}).reduce((line, text, index) => line.padEnd(index) + text, '')
