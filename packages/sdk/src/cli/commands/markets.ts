import type { ListedMarketJson } from '../../client/index.ts'
import { flagOption, wholeOption } from '../../command-line/index.ts'
import { hasTradingEnded } from '../../domain/index.ts'
import { particularOf, ROUTES } from '../../wire/index.ts'
import {
  defineCommand,
  noteMore,
  pageOf,
  printTable,
  readWalk,
  shortTime,
  shown,
} from '../command.ts'
import { CliError } from '../errors.ts'
import { LABEL_OPTIONS, present, RANGE_OPTIONS, routeOption, VENUE_OPTION } from '../options.ts'

const { query: PARAMS } = ROUTES.markets

/** `markets`: finds markets across venues. */
export const MARKETS = defineCommand({
  name: 'markets',
  args: '[QUERY]',
  mostArgs: 1,
  about: 'Find markets across venues, with their best prices.',
  more: 'QUERY is text in id, title, question, slug or tickers. Times choose markets that trade in them.',
  options: {
    ...VENUE_OPTION,
    ...LABEL_OPTIONS,
    event: routeOption(PARAMS.event, 'Only markets of this event.', { value: 'ID' }),
    asset: routeOption(PARAMS.asset, 'Only this underlying, such as btc (A, C).', {
      value: 'ASSET',
    }),
    series: routeOption(PARAMS.series, 'Only this series (B).', { value: 'TICKER' }),
    window: routeOption(PARAMS.window, 'Only rounds of this length, such as 15m.', {
      value: 'WINDOW',
    }),
    status: routeOption(PARAMS.status, 'Only this status.', { value: 'STATUS' }),
    sort: routeOption(PARAMS.sort, 'open_time by default.', { value: 'FIELD' }),
    order: routeOption(PARAMS.order, 'desc by default.', { value: 'ORDER' }),
    limit: wholeOption(1_000_000, 'Max markets to list, 20 by default.', { short: 'n' }),
    native: flagOption('With --json: also what the venue said, in its own names.'),
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook markets --status open',
    'priorbook markets bitcoin --venue venueb --limit 5',
    'priorbook markets --asset btc --window 15m --json',
  ],
  async run(context) {
    const { args, options, isJson, io, signal } = context
    const { start: start_time, end: end_time, limit: most = 20, order = 'desc', ...rest } = options
    const { venue, asset, series, event, window, status, category, tag, sort } = rest
    const named = { venue, asset, series, event, window, status, category, tag }
    const filters = { ...named, sort, start_time, end_time }
    const params = {
      ...present({ q: args[0], ...filters }),
      ...(options.native ? { include: ['native'] as const } : {}),
      order,
      number_format: 'string',
    } as const
    const walk = context.client().markets({ ...params, limit: pageOf(context, most) }, { signal })
    const { rows, count, more } = await readWalk(context, walk, most)
    if (count === 0) throw new CliError('empty', 'no market matches', 'Leave out a filter.')
    if (isJson) return
    await printTable(io, COLUMNS, rows.map(cellsOf))
    noteMore(context, more, most)
  },
})

const COLUMNS = [
  { head: 'MARKET' },
  { head: 'STATUS' },
  { head: 'BID', isNumber: true },
  { head: 'ASK', isNumber: true },
  { head: 'LAST', isNumber: true },
  { head: 'CLOSES (UTC)' },
  { head: 'TITLE', shrinks: true },
] as const

function cellsOf(row: ListedMarketJson): string[] {
  const isOver = hasTradingEnded(row.status)
  const winner = row.winning_outcome === null ? '' : ` ${row.winning_outcome}`
  return [
    `${row.venue}:${row.market_id}`,
    `${shown(row.status)}${winner}`,
    shown(isOver ? null : row.best_bid),
    shown(isOver ? null : row.best_ask),
    shown(row.last_price),
    shortTime(row.close_time),
    [shown(row.title), particularOf(row) ?? ''].filter((text) => text !== '').join(' · '),
  ]
}
