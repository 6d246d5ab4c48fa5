import { VENUE_IDS, type VenueId } from '../../domain/index.ts'
import type { CoverageJson } from '../../client/index.ts'
import type { DatasetCoverageJson, InstrumentCoverageJson } from '../../wire/index.ts'
import { parseMarket, takeAtMost, textOf } from '../args.ts'
import { CALENDAR_LEGEND, layCalendar } from '../calendar.ts'
import type { Command, CommandContext } from '../command.ts'
import { CliError } from '../exit-codes.ts'
import { layTable } from '../table.ts'
import { printJson, printLines, printSpan, shortTime, shown, tellNotices } from '../words.ts'

/** `coverage`: what was captured, as a table of datasets or the calendar of a market. */
export const COVERAGE: Command = {
  name: 'coverage',
  args: '[MARKET]',
  about: 'Show what is recorded and since when; of a market as a calendar.',
  options: {
    venue: { type: 'string', value: 'VENUE', words: VENUE_IDS, about: 'Only this venue.' },
  },
  examples: [
    'priorbook coverage',
    'priorbook coverage --venue venueb',
    'priorbook coverage venueb:KXBTC15M-26AUG111515-15',
  ],
  async run(context) {
    const { args, options, isJson, signal } = context
    takeAtMost(args, 1, 'coverage')
    const market = args[0] === undefined ? undefined : parseMarket(args[0])
    const venue = market?.venue ?? (textOf(options, 'venue') as VenueId | undefined)
    const answer = await context.client().coverage(
      {
        ...(venue === undefined ? {} : { venue }),
        ...(market === undefined ? {} : { market: market.market_id }),
      },
      { signal },
    )
    tellNotices(context, answer.notices)
    if (answer.data.length === 0) throw new CliError('empty', 'nothing is recorded of this')
    if (isJson) for (const row of answer.data) await printJson(context, row)
    else await print(context, answer.data)
  },
}

async function print(context: CommandContext, rows: readonly CoverageJson[]): Promise<void> {
  const { io } = context
  const datasets = rows.filter((row): row is DatasetCoverageJson => row.kind === 'dataset')
  if (datasets.length > 0) {
    const [head, ...lines] = layTable(COLUMNS, datasets.map(cellsOf))
    await printLines(context, [io.paint('dim', head!), ...lines])
  }
  const instruments = rows.filter((row): row is InstrumentCoverageJson => row.kind === 'instrument')
  for (const row of instruments) {
    const { observations, gaps, mean_spacing_ms: spacing, outcome } = row
    const pace = spacing === null ? '' : `, one every ${printSpan(Number(spacing))}`
    await printLines(context, [
      `${row.venue}:${row.market_id}${outcome === null ? '' : ` ${outcome}`}`,
      `${observations} observations${pace}; ${gaps.length} gaps`,
      `from ${shortTime(row.first_time)} to ${shortTime(row.last_time)} UTC`,
      ...layCalendar(row.days, (style, text) => io.paint(style, text)),
      '',
    ])
  }
  if (instruments.length > 0) await printLines(context, [CALENDAR_LEGEND])
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
  const floor = row.floor_time === null ? '–' : String(row.floor_time).slice(0, 10)
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
