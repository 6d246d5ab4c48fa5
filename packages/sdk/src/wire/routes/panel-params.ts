import { VENUE_IDS } from '../../domain/index.ts'
import { Problem } from '../problems.ts'
import { boundParam, required, textParam, wordParam, wordsParam, type Param } from './param.ts'
import { ORDERED_PAGE_PARAMS, STYLE_PARAMS } from './params.ts'

/** The earliest offset of a panel, in seconds. */
export const MIN_OFFSET = -86_400

/** Max offsets per request. */
export const MAX_OFFSETS = 20

/** The offsets where the request names none. */
export const DEFAULT_OFFSETS = '-60s,-30s,-10s'

/** The formats of panels beside JSON. */
export const PANEL_FORMATS = ['ndjson', 'csv', 'arrow', 'parquet'] as const

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }
const OFFSET = /^(?:0s?|-([1-9]\d{0,5})([smh]))$/

/**
 * Offsets from the close, joined by commas: `-60s`, `-5m`, `-1h`, `0s`. Read as whole seconds, the
 * earliest first.
 */
export function offsetsParam(): Param<readonly number[], string> {
  const one = '(0s?|-[1-9]\\d{0,5}[smh])'
  return {
    schema: { type: 'string', maxLength: 200, pattern: `^${one}(,${one}){0,${MAX_OFFSETS - 1}}$` },
    example: DEFAULT_OFFSETS,
    parse(text, name) {
      const words = text.split(',')
      const offsets = words.map((word) => parseOffset(word, name))
      if (offsets.length > MAX_OFFSETS) {
        throw refuse(name, `${name} has ${offsets.length} offsets, and at most ${MAX_OFFSETS} fit`)
      }
      const twice = words.find((_, at) => offsets.indexOf(offsets[at]!) !== at)
      if (twice !== undefined) throw refuse(name, `${name} has ${show(twice)} twice`)
      return offsets.sort((a, b) => a - b)
    },
  }
}

function parseOffset(word: string, name: string): number {
  const match = OFFSET.exec(word)
  if (match === null) throw refuse(name, `${name} has ${show(word)}, which is not an offset`)
  const [, count, unit] = match
  if (count === undefined || unit === undefined) return 0
  const seconds = -Number(count) * UNITS[unit]!
  if (seconds < MIN_OFFSET) {
    throw refuse(name, `${name} has ${show(word)}, which is more than a day before the close`)
  }
  return seconds
}

function refuse(param: string, detail: string): Problem {
  const hint = `Such as ${DEFAULT_OFFSETS}: whole seconds (s), minutes (m) or hours (h) before the close, or 0s.`
  return new Problem('invalid_parameter', detail, { param, hint })
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}

/** The parameters of panels. */
export const PANEL_PARAMS = {
  asset: required(textParam(20, 'btc')),
  window: required(textParam(10, '15m')),
  venue: wordsParam(VENUE_IDS, VENUE_IDS.slice(0, 2).join(',')),
  /** Bounds of the close time: `from` inclusive, `to` exclusive. */
  from: boundParam(),
  to: boundParam(),
  at: offsetsParam(),
  ...ORDERED_PAGE_PARAMS,
  ...STYLE_PARAMS,
  format: wordParam(['json', ...PANEL_FORMATS], 'PanelFormat'),
}
