import {
  textOption,
  timeOption,
  UsageError,
  wholeOption,
  wordOption,
} from '../../command-line/index.ts'
import { isVenueId, VENUE_IDS, type VenueId } from '../../domain/index.ts'
import { ROUTES, type PanelRowJson } from '../../wire/index.ts'
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
import { present, routeOption } from '../options.ts'
import { requireFolder } from '../require-folder.ts'
import { saveWhole } from '../save-whole.ts'

const { query: PARAMS } = ROUTES.panels

/** `panels`: past rounds aligned by seconds to their close. */
export const PANELS = defineCommand({
  name: 'panels',
  args: 'ASSET-WINDOW',
  mostArgs: 1,
  about: 'List past rounds at some seconds before their close, with prices and winner.',
  more: 'ASSET-WINDOW is such as BTC-15m. --out writes all rows of the range into a file of columns.',
  options: {
    venue: textOption('VENUES', 'Only these venues, joined by commas.'),
    from: timeOption('Only rounds that close at or after this time.'),
    to: timeOption('Only rounds that close before this time; now by default.'),
    at: textOption('OFFSETS', 'Before the close, -60s,-30s,-10s by default.'),
    order: routeOption(PARAMS.order, 'desc by default.', { value: 'ORDER' }),
    limit: wholeOption(1_000_000, 'Max rows to list, 60 by default.', { short: 'n' }),
    format: wordOption(['arrow', 'parquet'], 'The format of --out, parquet by default.', {
      value: 'FORMAT',
    }),
    out: textOption('FILE', 'Writes all rows of the range into this file.'),
  },
  examples: [
    'priorbook panels BTC-15m --from 1d',
    'priorbook panels BTC-5m --at -10s,0s --venue venuec --json',
    'priorbook panels BTC-15m --from 2026-11-01 --to 2026-11-02 --out panel.parquet',
  ],
  async run(context) {
    const { args, options, isJson, isQuiet, io, signal } = context
    const { from, to, at, limit: most = 60, out, format } = options
    const family = parseFamily(args[0])
    const venue = options.venue === undefined ? undefined : parseVenues(options.venue)
    const asked = { ...family, ...present({ venue, from, to, at }) }
    if (out !== undefined) {
      const order = present({ order: options.order })
      const file = { ...asked, ...order, format: format ?? 'parquet' } as const
      requireFolder(out, '--out')
      const { body } = await context.client().panelsFile(file, { signal })
      const bytes = await saveWhole(out, body, signal)
      if (!isQuiet) io.note(`${out}: ${bytes} bytes`)
      return
    }
    if (format !== undefined)
      throw new UsageError('--format needs --out', 'Such as --out panel.parquet.')
    const order = options.order ?? 'desc'
    const params = {
      ...asked,
      order,
      number_format: 'string',
      limit: pageOf(context, most),
    } as const
    const walk = context.client().panels(params, { signal })
    const { rows, count, more } = await readWalk(context, walk, most)
    if (count === 0) throw new CliError('empty', 'no round closed in the range')
    if (isJson) return
    await printTable(io, COLUMNS, rows.map(cellsOf))
    noteMore(context, more, most)
  },
})

function parseFamily(text: string | undefined): {
  readonly asset: string
  readonly window: string
} {
  const [, asset, window] = /^([A-Za-z0-9]+)-(\w+)$/.exec(text ?? '') ?? []
  if (asset !== undefined && window !== undefined) return { asset, window }
  throw new UsageError(
    text === undefined ? 'the rounds are missing' : `${text} does not name rounds`,
    'It is an asset and a length, such as BTC-15m.',
  )
}

function parseVenues(text: string): readonly VenueId[] {
  const venues = text.toLowerCase().split(',')
  const wrong = venues.find((one) => !isVenueId(one))
  if (wrong === undefined) return venues.filter(isVenueId)
  throw new UsageError(`${wrong} is not a venue`, `Venues are ${VENUE_IDS.join(', ')}.`)
}

const COLUMNS = [
  { head: 'MARKET', shrinks: true },
  { head: 'CLOSED (UTC)' },
  { head: 'AT', right: true },
  { head: 'BID', isNumber: true },
  { head: 'ASK', isNumber: true },
  { head: 'MID', isNumber: true },
  { head: 'AGE', right: true },
  { head: 'STRIKE', isNumber: true },
  { head: 'REFERENCE', isNumber: true },
  { head: 'WINNER' },
  { head: 'MISSING' },
] as const

function cellsOf(row: PanelRowJson): string[] {
  return [
    `${row.venue}:${row.market_id}`,
    shortTime(row.close_time),
    `${row.offset_s}s`,
    shown(row.best_bid),
    shown(row.best_ask),
    shown(row.mid),
    row.age_ms === null ? '–' : `${Math.round(row.age_ms)} ms`,
    shown(row.strike),
    shown(row.reference_price),
    shown(row.winning_outcome),
    row.gap ?? '',
  ]
}
