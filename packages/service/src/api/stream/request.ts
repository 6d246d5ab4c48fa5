import { isVenueId, VENUE_IDS } from '@priorbook/sdk/domain'
import {
  Problem,
  STREAM_DATASETS,
  type MarketSelector,
  type StreamDataset,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { BOOK_PARAMS, STYLE_PARAMS, type Param } from '../kit/index.ts'
import { StreamProblem } from './stream-problem.ts'

/** The largest message that a client may send. */
export const MAX_MESSAGE = 65_536
/** The longest time between two rows of an instrument that can be asked for. */
export const MAX_CONFLATE_MS = 60_000
/** What a client may ask for; replays are read by their own module. */
export const STREAM_OPS = [
  'auth',
  'subscribe',
  'unsubscribe',
  'replay',
  'pause',
  'resume',
  'seek',
  'stop',
  'ping',
] as const

/** One operation. */
export type StreamOp = (typeof STREAM_OPS)[number]

/** A message of a client as an object, before its members are looked at. */
export type RawRequest = Readonly<Record<string, unknown>> & { readonly op: StreamOp }

/** What a client wants to follow: read and checked, nothing looked up yet. */
export type SubscribeOrder = {
  readonly id: string
  readonly selector: MarketSelector
  readonly datasets: ReadonlySet<StreamDataset>
  readonly mode: 'full' | 'changes'
  readonly depth: number | undefined
  readonly style: ValueStyle
  readonly conflateMs: number
  readonly resume: {
    readonly books: ReadonlyMap<string, number>
    readonly trades: ReadonlyMap<string, number>
  }
}

const SUBSCRIBE_PARAMS = [
  'op',
  'id',
  'venue',
  'market_id',
  'series',
  'asset',
  'window',
  'datasets',
  'mode',
  'depth',
  'number_format',
  'time_format',
  'conflate_ms',
  'resume',
] as const

const MAX_RESUME = 10_000
const TRADE = '/trade'

/** Reads a message up to its operation. */
export function parseRequest(text: string): RawRequest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new StreamProblem('malformed_message')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new StreamProblem('malformed_message')
  }
  const { op } = value as { op?: unknown }
  if (!STREAM_OPS.some((word) => word === op)) {
    const hint = `One of ${STREAM_OPS.join(', ')}.`
    throw new StreamProblem('unknown_op', `op is ${show(op)}`, hint)
  }
  return value as RawRequest
}

/** Reads the message `subscribe`. */
export function parseSubscribe(request: RawRequest): SubscribeOrder {
  refuseUnknown(request, SUBSCRIBE_PARAMS)
  const mode = readWord(request['mode'], 'mode', ['full', 'changes'] as const) ?? 'full'
  const depth = readParam(request['depth'], 'depth', BOOK_PARAMS.depth)
  if (depth !== undefined && mode === 'changes') {
    throw new Problem('invalid_parameter', 'depth has no meaning for mode changes', {
      param: 'depth',
      hint: 'Changed levels are sent at any depth.',
    })
  }
  return {
    id: readId(request),
    selector: readSelector(request),
    datasets: readDatasets(request['datasets']),
    mode,
    depth,
    style: {
      numberFormat: readParam(
        request['number_format'],
        'number_format',
        STYLE_PARAMS.number_format,
      ),
      timeFormat: readParam(request['time_format'], 'time_format', STYLE_PARAMS.time_format),
    },
    conflateMs: readConflation(request['conflate_ms']),
    resume: readResume(request['resume']),
  }
}

/** The id of a subscription or replay. */
export function readId(request: RawRequest): string {
  return readText(request['id'], 'id', 64)
}

/** Refuses members that an operation does not have. */
export function refuseUnknown(request: RawRequest, allowed: readonly string[]): void {
  const param = Object.keys(request).find((name) => !allowed.includes(name))
  if (param === undefined) return
  throw new Problem('unknown_parameter', `${show(param)} is not known here`, {
    param: param.slice(0, 60),
    allowed,
  })
}

function readSelector(request: RawRequest): MarketSelector {
  const { venue } = request
  if (typeof venue !== 'string' || !isVenueId(venue)) {
    throw new Problem('invalid_parameter', `venue is ${show(venue)}`, {
      param: 'venue',
      allowed: VENUE_IDS,
    })
  }
  const names = (['market_id', 'series', 'asset', 'window'] as const).filter(
    (name) => request[name] !== undefined,
  )
  const family = names.find((name) => name !== 'market_id')
  if (names.includes('market_id') && family !== undefined) {
    const detail = `${family} names a family and market_id one market: give one of the two`
    throw new Problem('invalid_parameter', detail, { param: family })
  }
  return {
    venue,
    ...Object.fromEntries(names.map((name) => [name, readText(request[name], name, 200)])),
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

function readConflation(value: unknown): number {
  if (value === undefined) return 0
  if (!Number.isInteger(value) || (value as number) < 10 || (value as number) > MAX_CONFLATE_MS) {
    throw new Problem('invalid_parameter', `conflate_ms is ${show(value)}`, {
      param: 'conflate_ms',
      hint: `A whole number from 10 to ${MAX_CONFLATE_MS}; every row without.`,
    })
  }
  return value as number
}

function readResume(value: unknown): SubscribeOrder['resume'] {
  const books = new Map<string, number>()
  const trades = new Map<string, number>()
  if (value === undefined) return { books, trades }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const entries = isObject ? Object.entries(value as Record<string, unknown>) : []
  const isGood = entries.every(
    ([, sequence]) => Number.isSafeInteger(sequence) && (sequence as number) >= 0,
  )
  if (!isObject || !isGood || entries.length > MAX_RESUME) {
    throw new Problem('invalid_parameter', 'resume is not an object of sequences', {
      param: 'resume',
      hint: `Such as {"KXBTC-26AUG05-T1.5":1712}: at most ${MAX_RESUME} keys, whole numbers from 0.`,
    })
  }
  for (const [name, sequence] of entries as [string, number][]) {
    if (name.endsWith(TRADE)) trades.set(name.slice(0, -TRADE.length), sequence)
    else books.set(name, sequence)
  }
  return { books, trades }
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

/** Text of a bounded length. */
export function readText(value: unknown, name: string, maxLength: number): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    const detail = `${name} is ${show(value)}, not text of 1 to ${maxLength} characters`
    throw new Problem('invalid_parameter', detail, { param: name })
  }
  return value
}

function show(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value).slice(0, 60)
}
