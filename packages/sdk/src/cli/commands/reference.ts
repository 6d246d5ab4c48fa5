import { timeOption, wholeOption } from '../../command-line/index.ts'
import {
  ROUTES,
  type ReferenceAtJson,
  type ReferencePriceJson,
  type ReferenceSeriesJson,
} from '../../wire/index.ts'
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
import { present, RANGE_OPTIONS, routeOption } from '../options.ts'

const { query } = ROUTES.reference_prices

/** `reference`: the prices that crypto rounds settle on. */
export const REFERENCE = defineCommand({
  name: 'reference',
  args: '[ASSET]',
  mostArgs: 1,
  about: 'List recorded reference prices: the series, or the prices of an asset.',
  options: {
    feed: routeOption(query.feed, 'Only this feed.', { value: 'FEED' }),
    at: timeOption('What every feed said at this instant, with the age of each price.'),
    interval: routeOption(query.interval, 'The last price of every interval.', {
      value: 'INTERVAL',
    }),
    limit: wholeOption(1_000_000, 'Max prices to list, 100 by default.', { short: 'n' }),
    ...RANGE_OPTIONS,
  },
  examples: [
    'priorbook reference',
    'priorbook reference BTC --feed chainlink --start 1h --interval 1m',
    'priorbook reference BTC --at 2026-08-11T13:05:00Z',
  ],
  async run(context) {
    const { args, options } = context
    const [asset] = args
    if (asset === undefined) await printSeries(context)
    else if (options.at !== undefined) await printAsOf(context, asset, options.at, options.feed)
    else await printPrices(context, asset, options)
  },
})

async function printSeries(context: CliContext): Promise<void> {
  const { signal, isJson, io } = context
  const { data, notices } = await context.client().reference({}, { signal })
  printNotices(context, notices)
  if (isJson) for (const one of data) await printJson(context, one)
  else if (data.length > 0) await printTable(io, SERIES_COLUMNS, data.map(seriesCells))
}

const SERIES_COLUMNS = [
  { head: 'ASSET' },
  { head: 'FEED' },
  { head: 'VENUE' },
  { head: 'UNIT' },
  { head: 'FIRST' },
  { head: 'LAST' },
  { head: 'PRICES', right: true },
  { head: 'MISSING NOW' },
] as const

function seriesCells(one: ReferenceSeriesJson): string[] {
  const { asset, feed, venue, unit, first_time, last_time, prices, open_gap } = one
  const times = [shortTime(first_time), shortTime(last_time)]
  return [asset, feed, venue, unit, ...times, String(prices), shown(open_gap)]
}

async function printAsOf(
  context: CliContext,
  asset: string,
  at: string | number,
  feed: string | undefined,
): Promise<void> {
  const { signal, isJson, io } = context
  const params = { at, number_format: 'string', ...present({ feed }) } as const
  const { data, notices } = await context.client().referenceAsOf(asset, params, { signal })
  printNotices(context, notices)
  if (isJson) for (const one of data) await printJson(context, one)
  else await printTable(io, AS_OF_COLUMNS, data.map(asOfCells))
}

const AS_OF_COLUMNS = [
  { head: 'FEED' },
  { head: 'PRICE', isNumber: true },
  { head: 'UNIT' },
  { head: 'AGE', right: true },
  { head: 'MISSING' },
] as const

function asOfCells({ feed, price, unit, age_ms: age, gap }: ReferenceAtJson): string[] {
  return [feed, shown(price?.price), unit, age === null ? '–' : `${age} ms`, shown(gap?.reason)]
}

type PriceOptions = {
  readonly feed: string | undefined
  readonly interval: (typeof query.interval.words)[number] | undefined
  readonly limit: number | undefined
  readonly start: string | number | undefined
  readonly end: string | number | undefined
}

async function printPrices(
  context: CliContext,
  asset: string,
  { feed, interval, limit: most = 100, start: start_time, end: end_time }: PriceOptions,
): Promise<void> {
  const { signal, isJson, io } = context
  const params = present({ feed, interval, start_time, end_time })
  const walk = context
    .client()
    .referencePrices(
      asset,
      { ...params, number_format: 'string', limit: pageOf(context, most) },
      { signal },
    )
  const { rows, count, more } = await readWalk(context, walk, most)
  if (count === 0) throw new CliError('empty', 'no prices in the range')
  if (isJson) return
  await printTable(io, PRICE_COLUMNS, rows.map(priceCells))
  noteMore(context, more, most)
}

const PRICE_COLUMNS = [
  { head: 'RECEIVED' },
  { head: 'SOURCE' },
  { head: 'FEED' },
  { head: 'PRICE', isNumber: true },
  { head: 'FLAGS' },
] as const

function priceCells(row: ReferencePriceJson): string[] {
  const { received_time, source_time, feed, price, flags } = row
  return [shown(received_time), shown(source_time), feed, String(price), flags.join(' ')]
}
