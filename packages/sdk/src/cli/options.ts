import type { BulkParams } from '../client/index.ts'
import {
  parsedOption,
  textOption,
  timeOption,
  UsageError,
  wholeOption,
  wordOption,
  type Option,
  type OptionValues,
} from '../command-line/index.ts'
import { isVenueId, VENUE_IDS, type VenueId } from '../domain/index.ts'
import { ROUTES, SCOPE_PARAMS, type Param } from '../wire/index.ts'

type More = { readonly value: string; readonly short?: string }

/** An option that sets a parameter of a route: words and bounds are those of the route's contract. */
export function routeOption<Input>(
  { schema }: Param<unknown, Input>,
  about: string,
  more: More,
): Option<Input | undefined> {
  const words = schema['enum'] as readonly string[] | undefined
  const option =
    words !== undefined
      ? wordOption(words, about, more)
      : schema['type'] === 'integer'
        ? wholeOption(schema['maximum'] as number, about, more)
        : parsedOption(about, more, (given) => given)
  return option as Option<Input | undefined>
}

/** The option of commands that may be limited to one venue. */
export const VENUE_OPTION = {
  venue: routeOption(ROUTES.markets.query.venue, 'Only this venue.', { value: 'VENUE' }),
}

/** Options of commands that list by the venue's own headings and labels. */
export const LABEL_OPTIONS = {
  category: routeOption(ROUTES.markets.query.category, 'Only this heading, such as politics.', {
    value: 'NAME',
  }),
  tag: routeOption(ROUTES.markets.query.tag, 'Only what has this label.', { value: 'NAME' }),
}

/** Options of commands that take a range of time. */
export const RANGE_OPTIONS = {
  start: timeOption('From this received time on.'),
  end: timeOption('Up to, but not including, this received time.'),
}

/** The option of commands that play reference prices among the rows of markets. */
export const REFERENCES_OPTION = parsedOption(
  'Assets whose reference prices are played too, such as BTC,ETH; from the service.',
  { value: 'ASSETS' },
  (given) => given.split(',').filter((asset) => asset !== ''),
)

/** The option of commands that cut books. */
export const DEPTH_OPTION = {
  depth: routeOption(SCOPE_PARAMS.depth, 'Max levels per side.', { value: 'N' }),
}

/** Options that name a family of markets. */
export const FAMILY_OPTIONS = {
  venue: routeOption(SCOPE_PARAMS.venue, 'A family: of this venue.', { value: 'VENUE' }),
  series: routeOption(SCOPE_PARAMS.series, 'A family: this series (B).', { value: 'TICKER' }),
  asset: routeOption(SCOPE_PARAMS.asset, 'A family: this underlying (A, C).', { value: 'ASSET' }),
  window: routeOption(SCOPE_PARAMS.window, 'A family: rounds of this length.', { value: 'WINDOW' }),
}

/** Options that say what a download holds. */
export const SCOPE_OPTIONS = {
  ...FAMILY_OPTIONS,
  day: textOption('DAY', 'One UTC day, such as 2026-08-11.'),
  ...RANGE_OPTIONS,
  dataset: routeOption(SCOPE_PARAMS.dataset, 'books by default.', { value: 'DATASET' }),
  metric: routeOption(SCOPE_PARAMS.metric, 'Which values, with --dataset samples or history.', {
    value: 'METRIC',
  }),
  origin: routeOption(
    SCOPE_PARAMS.origin,
    'With --dataset trades: observed ones (the default), or those of the venue’s history.',
    { value: 'ORIGIN' },
  ),
  feed: routeOption(SCOPE_PARAMS.feed, 'Which feed, with --dataset reference.', { value: 'FEED' }),
  ...DEPTH_OPTION,
}

/** Reads what a download holds: a market, or a family. */
export function scopeOf(
  market: string | undefined,
  options: OptionValues<typeof SCOPE_OPTIONS>,
): BulkParams {
  const named = market === undefined ? undefined : parseMarket(market)
  const venue = named?.venue ?? options.venue
  if (venue === undefined) {
    throw new UsageError(
      'neither a market nor a family is named',
      'Such as venueb:KXBTC15M-26AUG111515-15, or --venue venueb --series KXBTC15M --day 2026-08-11.',
    )
  }
  const { series, asset, window, day, dataset, metric, origin, feed, depth } = options
  const range = { start_time: options.start, end_time: options.end }
  const rest = { series, asset, window, day, ...range, dataset, metric, origin, feed, depth }
  return { venue, ...present({ market_id: named?.market_id, ...rest }) }
}

/** A market on the command line: `venueb:KXBTC15M-26AUG111515-15`. */
export type MarketName = { readonly venue: VenueId; readonly market_id: string }

/** Reads the name of a market. */
export function parseMarket(text: string | undefined): MarketName {
  const at = text?.search(/[:/]/) ?? -1
  const venue = text?.slice(0, at)
  const id = text?.slice(at + 1) ?? ''
  if (at > 0 && isVenueId(venue) && id !== '') return { venue, market_id: id }
  throw new UsageError(
    text === undefined ? 'a market is missing' : `${text} is not the name of a market`,
    `It is VENUE:ID with one of ${VENUE_IDS.join(', ')}, such as venueb:KXBTC15M-26AUG111515-15; priorbook markets lists them.`,
  )
}

/** Drops undefined values: absent parameters are left out of requests. */
export function present<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as {
    [Name in keyof Values]?: Exclude<Values[Name], undefined>
  }
}
