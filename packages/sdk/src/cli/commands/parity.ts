import { printLines, wholeOption } from '../../command-line/index.ts'
import type { ParityDayJson } from '../../wire/index.ts'
import { defineCommand, printTable, readWalk, shown } from '../command.ts'
import { parseMarket, present, RANGE_OPTIONS, VENUE_OPTION } from '../options.ts'

/** `parity`: prices that contradict each other. */
export const PARITY = defineCommand({
  name: 'parity',
  args: '[MARKET]',
  mostArgs: 1,
  about: 'List how often prices contradicted each other, by market and day.',
  options: {
    ...VENUE_OPTION,
    limit: wholeOption(1_000_000, 'Max days to list, 100 by default.', { short: 'n' }),
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook parity --venue venuec --start 24h',
    'priorbook parity venueb:KXBTC15M-26AUG111515-15 --json',
  ],
  async run(context) {
    const { args, options, isJson, io, signal } = context
    const market = args[0] === undefined ? undefined : parseMarket(args[0])
    const { start: start_time, end: end_time, limit: most = 100 } = options
    const venue = market?.venue ?? options.venue
    const params = present({ venue, market: market?.market_id, start_time, end_time })
    const walk = context.client().parity({ ...params, limit: Math.min(most, 1000) }, { signal })
    const { rows, count } = await readWalk(context, walk, most)
    if (isJson) return
    // That nothing failed is good news, not a failure.
    if (count === 0) await printLines(io, ['no check of prices failed'])
    else await printTable(io, COLUMNS, rows.map(cellsOf))
  },
})

const COLUMNS = [
  { head: 'DAY' },
  { head: 'MARKET', shrinks: true },
  { head: 'BOOKS', right: true },
  { head: 'SUM OFF', right: true },
  { head: 'COMPLEMENT', right: true },
  { head: 'LOCKED', right: true },
  { head: 'OFF TICK', right: true },
  { head: 'BOUNDS', right: true },
  { head: 'CROSSED', right: true },
] as const

function cellsOf(row: ParityDayJson): string[] {
  return [
    row.day,
    `${row.venue}:${row.market_id}`,
    shown(row.observations),
    ...[row.sum_off, row.complement_crossed, row.locked, row.off_tick].map(String),
    ...[row.out_of_bounds, row.crossed].map(String),
  ]
}
