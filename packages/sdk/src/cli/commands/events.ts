import type { EventJson, EventMarketJson, EventWithMarketsJson } from '../../wire/index.ts'
import { printLines, UsageError, wholeOption } from '../../command-line/index.ts'
import { hasTradingEnded, isVenueId } from '../../domain/index.ts'
import { ROUTES } from '../../wire/index.ts'
import {
  defineCommand,
  noteMore,
  pageOf,
  printJson,
  printNotices,
  printTable,
  readWalk,
  shortTime,
  shown,
  type CliContext,
} from '../command.ts'
import { CliError } from '../errors.ts'
import { LABEL_OPTIONS, present, RANGE_OPTIONS, routeOption, VENUE_OPTION } from '../options.ts'

const { query: PARAMS } = ROUTES.events

/** `events`: finds events across venues, and shows one with its markets. */
export const EVENTS = defineCommand({
  name: 'events',
  args: '[QUERY | show ID]',
  mostArgs: 2,
  about: 'Find events, such as elections, or show one with the prices of its markets.',
  more: 'QUERY is words in title, slug, id or series. ID is as events are listed, VENUE:ID, or the id alone.',
  options: {
    ...VENUE_OPTION,
    ...LABEL_OPTIONS,
    series: routeOption(PARAMS.series, 'Only this series (B).', { value: 'TICKER' }),
    status: routeOption(PARAMS.status, 'open: only events with an open market.', {
      value: 'STATUS',
    }),
    sort: routeOption(PARAMS.sort, 'open_time by default.', { value: 'FIELD' }),
    order: routeOption(PARAMS.order, 'desc by default.', { value: 'ORDER' }),
    limit: wholeOption(1_000_000, 'Max events to list, 20 by default.', { short: 'n' }),
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook events election --status open',
    'priorbook events --category politics --sort close_time --order asc',
    'priorbook events show venueb:KXPRESPERSON-28',
  ],
  async run(context) {
    const { args, options } = context
    if (args[0] === 'show') return showEvent(context, args[1], options.venue)
    const { start: start_time, end: end_time, limit: most = 20, order = 'desc', ...rest } = options
    const { venue, category, tag, series, status, sort } = rest
    const q = args.length === 0 ? undefined : args.join(' ')
    const filters = { q, venue, category, tag, series, status, sort, start_time, end_time }
    const params = { ...present(filters), order, limit: pageOf(context, most) }
    const walk = context.client().events(params, { signal: context.signal })
    const { rows, count, more } = await readWalk(context, walk, most)
    if (count === 0) throw new CliError('empty', 'no event matches', 'Leave out a filter.')
    if (context.isJson) return
    await printTable(context.io, LIST_COLUMNS, rows.map(listCells))
    noteMore(context, more, most)
  },
})

async function showEvent(
  context: CliContext,
  text: string | undefined,
  given: EventJson['venue'] | undefined,
): Promise<void> {
  const { io, isJson, signal } = context
  const { venue = given, id } = parseEvent(text)
  const markets: EventMarketJson[] = []
  let event: EventWithMarketsJson | undefined
  for (let cursor: string | undefined; ;) {
    const params = { ...present({ venue, cursor }), number_format: 'string' } as const
    const page = await context.client().event(id, params, { signal })
    if (event === undefined) printNotices(context, page.notices)
    if (page.data === null) {
      const hint = 'A plan with a longer history includes it.'
      throw new CliError('empty', 'the event ended before the history of the plan', hint)
    }
    event ??= page.data
    markets.push(...page.data.markets)
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  if (isJson) return printJson(context, { ...event, markets })
  await printLines(io, headLines(event))
  await printTable(
    io,
    MARKET_COLUMNS,
    markets.map((one) => marketCells(event.venue, one)),
  )
  await printLines(io, sumLines(event))
}

// `venueb:KXPRESPERSON-28`, or the id alone.
function parseEvent(text: string | undefined): {
  readonly venue?: EventJson['venue']
  readonly id: string
} {
  if (text === undefined || text === '') {
    throw new UsageError('the id of the event is missing', 'priorbook events lists them.')
  }
  const at = text.indexOf(':')
  const venue = text.slice(0, Math.max(0, at))
  return isVenueId(venue) ? { venue, id: text.slice(at + 1) } : { id: text }
}

function headLines({ venue, event_id, ...event }: EventWithMarketsJson): string[] {
  const { title, category, tags, is_exclusive, conversion } = event
  const labels = [category, ...tags].filter((label) => label !== null)
  return [
    `${venue}:${event_id}  ${shown(title)}`,
    ...(labels.length === 0 ? [] : [[...new Set(labels)].join(', ')]),
    ...(is_exclusive === true ? ['At most one of the markets can end with Yes.'] : []),
    ...(conversion === null ? [] : [conversion]),
  ]
}

function sumLines({ sums }: EventWithMarketsJson): string[] {
  if (sums === null) return []
  const { best_bid: bid, best_ask: ask, bid_count: bids, ask_count: asks, left_out } = sums
  const line = `sum of best bids ${shown(bid)} (${counted(bids)}), of best asks ${shown(ask)} (${counted(asks)})`
  if (left_out.length === 0) return [line]
  const names = left_out.map(({ market_id: id, reason }) => `${id} ${reason}`)
  return [line, `not in the sums: ${names.join(', ')}`]
}

function counted(markets: number): string {
  return markets === 1 ? '1 market' : `${markets} markets`
}

const LIST_COLUMNS = [
  { head: 'EVENT' },
  { head: 'MARKETS', right: true },
  { head: 'OPEN', right: true },
  { head: 'LAST CLOSE (UTC)' },
  { head: 'CATEGORY' },
  { head: 'TITLE', shrinks: true },
] as const

function listCells(row: EventJson): string[] {
  return [
    `${row.venue}:${row.event_id}`,
    String(row.market_count),
    String(row.open_market_count),
    shortTime(row.last_close_time),
    shown(row.category),
    shown(row.title),
  ]
}

const MARKET_COLUMNS = [
  { head: 'OUTCOME', shrinks: true },
  { head: 'STATUS' },
  { head: 'BID', isNumber: true },
  { head: 'ASK', isNumber: true },
  { head: 'LAST', isNumber: true },
  { head: 'WINNER' },
  { head: 'MARKET' },
] as const

function marketCells(venue: string, row: EventMarketJson): string[] {
  return [
    shown(row.outcome ?? row.title),
    row.has_open_gap ? 'gap' : shown(row.status),
    shown(hasTradingEnded(row.status) ? null : row.best_bid),
    shown(hasTradingEnded(row.status) ? null : row.best_ask),
    shown(row.last_price),
    shown(row.winning_outcome),
    `${venue}:${row.market_id}`,
  ]
}
