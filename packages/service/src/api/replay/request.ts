import { isVenueId, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import {
  Problem,
  STREAM_DATASETS,
  type BookPageOptions,
  type MarketSelector,
  type StreamDataset,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { BOOK_PARAMS, RANGE_PARAMS, STYLE_PARAMS, type Param } from '../kit/index.ts'

/** What a client asked to have replayed: read and checked, nothing looked up yet. */
export type ReplayOrder = {
  readonly id: string
  readonly selectors: readonly MarketSelector[]
  readonly start: Micros
  readonly end: Micros
  /** Recorded seconds a second; Infinity: as fast as the client reads. */
  readonly speed: number
  readonly datasets: ReadonlySet<StreamDataset>
  readonly mode: 'full' | 'changes'
  readonly style: ValueStyle
  readonly options: BookPageOptions
}

/** The most entries of `markets`. */
export const MOST_SELECTORS = 100
/** The fastest pace that is not `max`. */
export const MOST_SPEED = 100_000

const PARAMS = [
  'op',
  'id',
  'markets',
  'start_time',
  'end_time',
  'speed',
  'datasets',
  'mode',
  'depth',
  'number_format',
  'time_format',
] as const

const SELECTOR_PARAMS = ['venue', 'market_id', 'series', 'asset', 'window'] as const

/** Reads the message `replay`; what comes over a socket is trusted in nothing. */
export function parseReplay(message: Readonly<Record<string, unknown>>): ReplayOrder {
  refuseUnknown(message, PARAMS)
  const start = readTime(message['start_time'], 'start_time')
  const end = readTime(message['end_time'], 'end_time')
  if (end <= start) {
    throw new Problem('invalid_range', 'end_time is not after start_time', {
      param: 'end_time',
      hint: 'The range is from start_time up to, but without, end_time.',
    })
  }
  const mode = readWord(message['mode'], 'mode', ['full', 'changes'] as const) ?? 'full'
  const depth = readParam(message['depth'], 'depth', BOOK_PARAMS.depth)
  if (depth !== undefined && mode === 'changes') {
    throw new Problem('invalid_parameter', 'depth has no meaning for mode changes', {
      param: 'depth',
      hint: 'Changed levels are sent at any depth.',
    })
  }
  const style = {
    numberFormat: readParam(message['number_format'], 'number_format', STYLE_PARAMS.number_format),
    timeFormat: readParam(message['time_format'], 'time_format', STYLE_PARAMS.time_format),
  }
  return {
    id: readText(message['id'], 'id', 64),
    selectors: readSelectors(message['markets']),
    start,
    end,
    speed: readSpeed(message['speed']),
    datasets: readDatasets(message['datasets']),
    mode,
    style,
    options: { ladders: true, depth, ...style },
  }
}

function readSelectors(value: unknown): readonly MarketSelector[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new Problem('invalid_parameter', 'markets is not a list of markets', {
      param: 'markets',
      hint: 'Such as [{"venue":"venueb","market_id":"KXBTC15M-26AUG051215-15"}].',
    })
  }
  if (value.length > MOST_SELECTORS) {
    throw new Problem('invalid_parameter', `markets has more than ${MOST_SELECTORS} entries`, {
      param: 'markets',
      hint: 'Name a family by series, asset or window.',
    })
  }
  return value.map((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      throw new Problem('invalid_parameter', 'an entry of markets is no object', {
        param: 'markets',
      })
    }
    return readSelector(entry as Readonly<Record<string, unknown>>)
  })
}

function readSelector(entry: Readonly<Record<string, unknown>>): MarketSelector {
  refuseUnknown(entry, SELECTOR_PARAMS)
  const { venue } = entry
  if (typeof venue !== 'string' || !isVenueId(venue)) {
    throw new Problem('invalid_parameter', `venue is ${show(venue)}`, {
      param: 'venue',
      allowed: VENUE_IDS,
    })
  }
  const names = (['market_id', 'series', 'asset', 'window'] as const).filter(
    (name) => entry[name] !== undefined,
  )
  const family = names.find((name) => name !== 'market_id')
  if (names.includes('market_id') && family !== undefined) {
    const detail = `${family} names a family and market_id one market: give one of the two`
    throw new Problem('invalid_parameter', detail, { param: family })
  }
  return {
    venue,
    ...Object.fromEntries(names.map((name) => [name, readText(entry[name], name, 200)])),
  }
}

function readDatasets(value: unknown): ReadonlySet<StreamDataset> {
  if (value === undefined) return new Set(STREAM_DATASETS)
  const words: readonly unknown[] = Array.isArray(value) ? value : []
  const known = STREAM_DATASETS.filter((word) => words.includes(word))
  if (known.length === 0 || known.length !== words.length) {
    throw new Problem('invalid_parameter', `datasets is ${show(value)}`, {
      param: 'datasets',
      allowed: STREAM_DATASETS,
      hint: 'A list of different datasets; all of them without.',
    })
  }
  return new Set(known)
}

function readSpeed(value: unknown): number {
  if (value === undefined) return 1
  if (value === 'max') return Infinity
  if (typeof value !== 'number' || !(value > 0 && value <= MOST_SPEED)) {
    throw new Problem('invalid_parameter', `speed is ${show(value)}`, {
      param: 'speed',
      hint: `max, or a number above 0 and up to ${MOST_SPEED}; 1 is the recorded pace.`,
    })
  }
  return value
}

function readTime(value: unknown, name: 'start_time' | 'end_time'): Micros {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new Problem('invalid_parameter', `${name} is ${show(value)}`, {
      param: name,
      hint: 'Such as 2026-08-11T01:15:15Z, or 1786410915000.',
    })
  }
  return RANGE_PARAMS[name].parse(String(value), name)
}

function readParam<T>(value: unknown, name: string, param: Param<T>): T | undefined {
  if (value === undefined) return undefined
  const isPlain = typeof value === 'string' || typeof value === 'number'
  return param.parse(isPlain ? String(value) : show(value), name)
}

function readWord<const Words extends readonly string[]>(
  value: unknown,
  name: string,
  words: Words,
): Words[number] | undefined {
  const word = words.find((one) => one === value)
  if (word === undefined && value !== undefined) {
    throw new Problem('invalid_parameter', `${name} is ${show(value)}`, {
      param: name,
      allowed: words,
    })
  }
  return word
}

function readText(value: unknown, name: string, maxLength: number): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    const detail = `${name} is ${show(value)}, not text of 1 to ${maxLength} characters`
    throw new Problem('invalid_parameter', detail, { param: name })
  }
  return value
}

function refuseUnknown(
  values: Readonly<Record<string, unknown>>,
  allowed: readonly string[],
): void {
  const param = Object.keys(values).find((name) => !allowed.includes(name))
  if (param === undefined) return
  throw new Problem('unknown_parameter', `${show(param)} is not known here`, {
    param: param.slice(0, 60),
    allowed,
  })
}

function show(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value).slice(0, 60)
}
