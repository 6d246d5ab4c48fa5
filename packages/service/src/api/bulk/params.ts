import { parseMicros, PriorbookError, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import { Problem, SAMPLE_METRICS } from '@priorbook/sdk/wire'
import {
  BOOK_PARAMS,
  flagParam,
  integerParam,
  KNOWN_AT_PARAM,
  RANGE_PARAMS,
  required,
  STYLE_PARAMS,
  textParam,
  wordParam,
} from '../params.ts'
import type { Param } from '../route.ts'

/** The formats of a download, by their names in `format`. */
export const BULK_FORMATS = ['ndjson', 'csv', 'arrow', 'parquet', 'tape'] as const

/** The name of one format. */
export type BulkFormat = (typeof BULK_FORMATS)[number]

/** What can be downloaded. */
export const DATASETS = ['books', 'trades', 'samples'] as const

/** The name of one dataset. */
export type Dataset = (typeof DATASETS)[number]

/** What is downloaded: the same parameters for the file and for its manifest. */
export const SCOPE_PARAMS = {
  venue: required(wordParam(VENUE_IDS, 'The venue.')),
  market_id: textParam(
    200,
    'One market: market id (A), market ticker (B) or condition id (C). Without it, a family: `asset` or `series`, and `window`.',
  ),
  asset: textParam(20, 'The family’s underlying asset, such as btc.', 'btc'),
  series: textParam(200, 'The family’s series ticker (venue B).', 'KXBTC15M'),
  window: textParam(20, 'The family’s window, such as 5m or 15m.', '15m'),
  day: dayParam('One UTC day; or give `start_time` and `end_time`.'),
  ...RANGE_PARAMS,
  dataset: wordParam(DATASETS, 'What to download, books by default.'),
  metric: wordParam(
    SAMPLE_METRICS,
    'Which samples; with `dataset=samples` only, and required there.',
  ),
  include_orderbook: flagParam('Whether rows of books carry ladders; true by default.'),
  depth: BOOK_PARAMS.depth,
  number_format: STYLE_PARAMS.number_format,
  time_format: STYLE_PARAMS.time_format,
  ...KNOWN_AT_PARAM,
}

/** The parameters of a download alone. */
export const FILE_PARAMS = {
  format: wordParam(BULK_FORMATS, 'The format, ndjson by default; `Accept` does the same.'),
  offset: integerParam(
    0,
    Number.MAX_SAFE_INTEGER,
    'Leaves out so many bytes at the beginning of the file, to go on with a broken download.',
  ),
}

/** The parameters of a manifest alone. */
export const MANIFEST_PARAMS = {
  formats: formatsParam(
    'Which files to describe, joined by commas; ndjson by default. Each is rendered once.',
  ),
  estimate: flagParam('True gives rows and bytes quickly, without rendering and without hashes.'),
}

/** A UTC day as the time of its start. */
function dayParam(description: string): Param<Micros> {
  return {
    schema: { type: 'string', format: 'date' },
    description,
    example: '2026-08-11',
    parse(text, name) {
      try {
        if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseMicros(`${text}T00:00:00Z`)
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
      }
      throw new Problem('invalid_parameter', `${name} is no day: ${show(text)}`, {
        param: name,
        hint: 'Such as 2026-08-11; days are those of UTC.',
      })
    },
  }
}

function formatsParam(description: string): Param<readonly BulkFormat[]> {
  return {
    schema: { type: 'string', maxLength: 60 },
    description,
    example: 'ndjson,parquet',
    parse(text, name) {
      const words = text.split(',')
      const formats = BULK_FORMATS.filter((format) => words.includes(format))
      if (formats.length !== words.length) {
        throw new Problem('invalid_parameter', `${name} is ${show(text)}`, {
          param: name,
          allowed: BULK_FORMATS,
          hint: 'Different formats, joined by commas.',
        })
      }
      return formats
    },
  }
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}
