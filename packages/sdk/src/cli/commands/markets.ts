import { MARKET_STATUSES, VENUE_IDS, type MarketStatus, type VenueId } from '../../domain/index.ts'
import type { ListedMarketJson, MarketSearchParams } from '../../client/index.ts'
import { ROUTES } from '../../wire/index.ts'
import { countOf, present, takeAtMost, textOf, timeOf } from '../args.ts'
import { RANGE_OPTIONS, type Command } from '../command.ts'
import { CliError } from '../exit-codes.ts'
import { layTable } from '../table.ts'
import { printJson, printLines, shortTime, shown, tellNotices } from '../words.ts'

const { query: PARAMS } = ROUTES.markets

/** `markets`: finds markets across venues. */
export const MARKETS: Command = {
  name: 'markets',
  args: '[QUERY]',
  about: 'Find markets across venues, with their best prices.',
  more: 'QUERY is text in id, title, question, slug or tickers. Times choose markets that trade in them.',
  options: {
    venue: { type: 'string', value: 'VENUE', words: VENUE_IDS, about: 'Only this venue.' },
    asset: { type: 'string', value: 'ASSET', about: 'Only this underlying, such as btc (A, C).' },
    series: { type: 'string', value: 'TICKER', about: 'Only this series (B).' },
    window: { type: 'string', value: 'WINDOW', about: 'Only rounds of this length, such as 15m.' },
    status: { type: 'string', value: 'STATUS', words: MARKET_STATUSES, about: 'Only this status.' },
    sort: {
      type: 'string',
      value: 'FIELD',
      words: PARAMS.sort.words,
      about: 'open_time by default.',
    },
    order: { type: 'string', value: 'ORDER', words: PARAMS.order.words, about: 'desc by default.' },
    limit: { type: 'string', short: 'n', value: 'N', about: 'Max markets to list, 20 by default.' },
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook markets --status open',
    'priorbook markets bitcoin --venue venueb --limit 5',
    'priorbook markets --asset btc --window 15m --json',
  ],
  async run(context) {
    const { args, options, isJson, signal, io } = context
    takeAtMost(args, 1, 'markets')
    const most = countOf(options, 'limit', 1_000_000) ?? 20
    const walk = context
      .client()
      .markets({ ...paramsOf(args[0], options), limit: Math.min(most, 1000) }, { signal })
    const told = new Set<string>()
    const rows: ListedMarketJson[] = []
    let count = 0
    for await (const page of walk.pages()) {
      tellNotices(context, page.notices, told)
      for (const row of page.data.slice(0, most - count)) {
        count++
        if (isJson) await printJson(context, row)
        else rows.push(row)
      }
      if (count >= most) break
    }
    if (count === 0) throw new CliError('empty', 'no market matches', 'Leave out a filter.')
    if (isJson) return
    const { columns } = io.size()
    const lines = layTable(COLUMNS, rows.map(cellsOf), io.isTty ? columns : Infinity)
    await printLines(context, [io.paint('dim', lines[0]!), ...lines.slice(1)])
  },
}

const COLUMNS = [
  { head: 'MARKET' },
  { head: 'STATUS' },
  { head: 'BID', right: true },
  { head: 'ASK', right: true },
  { head: 'LAST', right: true },
  { head: 'CLOSES (UTC)' },
  { head: 'TITLE', shrinks: true },
] as const

function cellsOf(row: ListedMarketJson): string[] {
  return [
    `${row.venue}:${row.market_id}`,
    shown(row.status),
    shown(row.best_bid),
    shown(row.best_ask),
    shown(row.last_price),
    shortTime(row.close_time),
    shown(row.title),
  ]
}

function paramsOf(
  q: string | undefined,
  options: Parameters<typeof textOf>[0],
): MarketSearchParams {
  return present({
    q,
    venue: textOf(options, 'venue') as VenueId | undefined,
    asset: textOf(options, 'asset'),
    series: textOf(options, 'series'),
    window: textOf(options, 'window'),
    status: textOf(options, 'status') as MarketStatus | undefined,
    sort: textOf(options, 'sort') as MarketSearchParams['sort'],
    order: (textOf(options, 'order') ?? 'desc') as 'asc' | 'desc',
    start_time: timeOf(options, 'start'),
    end_time: timeOf(options, 'end'),
    number_format: 'string',
  })
}
