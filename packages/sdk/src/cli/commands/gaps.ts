import { printLines, printSpan, wholeOption } from '../../command-line/index.ts'
import { isMarketState } from '../../domain/index.ts'
import { ROUTES, type GapJson } from '../../wire/index.ts'
import { defineCommand, noteMore, pageOf, printTable, readWalk, shortTime } from '../command.ts'
import { parseMarket, present, RANGE_OPTIONS, routeOption, VENUE_OPTION } from '../options.ts'

/** `gaps`: what was not observed. */
export const GAPS = defineCommand({
  name: 'gaps',
  args: '[MARKET]',
  mostArgs: 1,
  about: 'List what was not observed, and why.',
  more:
    'Spans in which a market was not open are not losses: the table leaves them out unless --reason names them; ' +
    '--json has every span.',
  options: {
    ...VENUE_OPTION,
    reason: routeOption(ROUTES.gaps.query.reason, 'Only this reason.', { value: 'REASON' }),
    limit: wholeOption(1_000_000, 'Max gaps to list, 100 by default.', { short: 'n' }),
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook gaps venueb:KXBTC15M-26AUG111515-15',
    'priorbook gaps --venue venuec --start 24h',
    'priorbook gaps --reason disconnected --json',
  ],
  async run(context) {
    const { args, options, isJson, io, signal } = context
    const market = args[0] === undefined ? undefined : parseMarket(args[0])
    const { reason, start: start_time, end: end_time, limit: most = 100 } = options
    const venue = market?.venue ?? options.venue
    const params = present({ venue, market: market?.market_id, reason, start_time, end_time })
    const limit = pageOf(context, most)
    const walk = context.client().gaps({ ...params, limit }, { signal })
    const isListed = (gap: GapJson): boolean =>
      isJson || reason !== undefined || !isMarketState(gap.reason)
    const { rows, count, more } = await readWalk(context, walk, most, isListed)
    if (isJson) return
    // Nothing missing is good news, not a failure.
    if (count === 0) await printLines(io, ['no gaps'])
    else await printTable(io, COLUMNS, rows.map(cellsOf))
    noteMore(context, more, most)
  },
})

const COLUMNS = [
  { head: 'START (UTC)' },
  { head: 'LASTED', right: true },
  { head: 'REASON' },
  { head: 'WHAT', shrinks: true },
  { head: 'AFTER SEQ', right: true },
] as const

function cellsOf(gap: GapJson): string[] {
  const { venue, key, scope, start_time: start, end_time: end } = gap
  const lasted =
    end === null ? 'open' : printSpan(Date.parse(String(end)) - Date.parse(String(start)))
  const what = key === null ? venue : `${venue}:${key}`
  return [shortTime(start), lasted, gap.reason, `${what} (${scope})`, String(gap.after_sequence)]
}
