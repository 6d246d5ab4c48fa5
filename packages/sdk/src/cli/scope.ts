import { FILE_DATASETS, SAMPLE_METRICS, type SampleMetric } from '../wire/index.ts'
import { VENUE_IDS, type VenueId } from '../domain/index.ts'
import type { BulkParams } from '../client/index.ts'
import { countOf, parseMarket, present, takeAtMost, textOf, timeOf } from './args.ts'
import { RANGE_OPTIONS, type Option, type OptionValues } from './command.ts'
import { CliError } from './exit-codes.ts'

/** Options that name a family of markets. */
export const FAMILY_OPTIONS: Readonly<Record<string, Option>> = {
  venue: { type: 'string', value: 'VENUE', words: VENUE_IDS, about: 'A family: of this venue.' },
  series: { type: 'string', value: 'TICKER', about: 'A family: this series (B).' },
  asset: { type: 'string', value: 'ASSET', about: 'A family: this underlying (A, C).' },
  window: { type: 'string', value: 'WINDOW', about: 'A family: rounds of this length.' },
}

/** Options that say what a download holds. */
export const SCOPE_OPTIONS: Readonly<Record<string, Option>> = {
  ...FAMILY_OPTIONS,
  day: { type: 'string', value: 'DAY', about: 'One UTC day, such as 2026-08-11.' },
  ...RANGE_OPTIONS,
  dataset: {
    type: 'string',
    value: 'DATASET',
    words: FILE_DATASETS,
    about: 'books by default.',
  },
  metric: {
    type: 'string',
    value: 'METRIC',
    words: SAMPLE_METRICS,
    about: 'With --dataset samples: which.',
  },
  depth: { type: 'string', value: 'N', about: 'Max levels per side.' },
}

/** Reads what a download holds: a market, or a family. */
export function scopeOf(
  args: readonly string[],
  options: OptionValues,
  command: string,
): BulkParams {
  takeAtMost(args, 1, command)
  const market = args[0] === undefined ? undefined : parseMarket(args[0])
  const venue = textOf(options, 'venue') as VenueId | undefined
  if (market === undefined && venue === undefined) {
    throw new CliError(
      'usage',
      'neither a market nor a family is named',
      `Such as venueb:KXBTC15M-26AUG111515-15, or --venue venueb --series KXBTC15M --day 2026-08-11.`,
    )
  }
  const day = textOf(options, 'day')
  return present({
    venue: (market?.venue ?? venue)!,
    market_id: market?.market_id,
    series: textOf(options, 'series'),
    asset: textOf(options, 'asset'),
    window: textOf(options, 'window'),
    day,
    start_time: timeOf(options, 'start'),
    end_time: timeOf(options, 'end'),
    dataset: textOf(options, 'dataset') as BulkParams['dataset'],
    metric: textOf(options, 'metric') as SampleMetric | undefined,
    depth: countOf(options, 'depth', 10_000),
  })
}
