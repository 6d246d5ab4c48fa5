import {
  FEED_PARAM,
  Problem,
  STREAM_ERRORS,
  type MarketSelector,
  type StreamDataset,
  type StreamErrorCode,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import {
  readDatasets,
  readMode,
  readSelector,
  readStyle,
  readText,
  refuseUnknownMembers,
  SELECTOR_MEMBERS,
  showMember,
} from '../members.ts'

/** Max bytes of a message from a client. */
export const MAX_MESSAGE = 65_536
/** Max milliseconds between two rows of an instrument that a client may ask for. */
const MAX_CONFLATE_MS = 60_000
/** The operations of a client; the replay module validates `replay` itself. */
export const STREAM_OPS = [
  'auth',
  'subscribe',
  'subscribe_contract',
  'subscribe_reference',
  'unsubscribe',
  'replay',
  'pause',
  'resume',
  'seek',
  'stop',
  'ping',
] as const

/** An operation of a client. */
type StreamOp = (typeof STREAM_OPS)[number]

/** A message of a client with a known operation; its other members are not validated yet. */
export type RawRequest = Readonly<Record<string, unknown>> & { readonly op: StreamOp }

/** What a client may choose about the rows of any markets, and where to resume. */
export type SubscriptionChoice = {
  readonly id: string
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

/** A validated `subscribe` message; markets are not looked up yet. */
export type SubscribeRequest = SubscriptionChoice & { readonly selector: MarketSelector }

/** A validated `subscribe_contract` message; the contract is not looked up yet. */
export type ContractRequest = SubscriptionChoice & { readonly contractId: string }

const CHOICE_PARAMS = [
  'op',
  'id',
  'datasets',
  'mode',
  'depth',
  'number_format',
  'time_format',
  'conflate_ms',
  'resume',
] as const

// Max keys of `resume`.
const MAX_RESUME = 10_000
// Ends a key of `resume` that names a trade.
const TRADE = '/trade'

/** Parses a message and validates its operation; throws `StreamProblem`. */
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
    throw new StreamProblem('unknown_op', `op is ${showMember(op)}`, hint)
  }
  return value as RawRequest
}

/** Validates a `subscribe` message; throws `Problem`. */
export function parseSubscribe(request: RawRequest): SubscribeRequest {
  refuseUnknownMembers(request, [...CHOICE_PARAMS, ...SELECTOR_MEMBERS])
  return { ...readChoice(request), selector: readSelector(request) }
}

/** Validates a `subscribe_contract` message; throws `Problem`. */
export function parseContract(request: RawRequest): ContractRequest {
  refuseUnknownMembers(request, [...CHOICE_PARAMS, 'contract_id'])
  return {
    ...readChoice(request),
    contractId: readText(request['contract_id'], 'contract_id', 200),
  }
}

function readChoice(request: RawRequest): SubscriptionChoice {
  const { mode, depth } = readMode(request)
  return {
    id: readId(request),
    datasets: readDatasets(request['datasets']),
    mode,
    depth,
    style: readStyle(request),
    conflateMs: readConflation(request['conflate_ms']),
    resume: readResume(request['resume']),
  }
}

/** A validated `subscribe_reference` message; series are not looked up yet. */
export type ReferenceRequest = {
  readonly id: string
  readonly asset: string
  readonly feed: string | undefined
  readonly style: ValueStyle
  readonly resume: ReadonlyMap<string, number>
}

const REFERENCE_PARAMS = [
  'op',
  'id',
  'asset',
  'feed',
  'number_format',
  'time_format',
  'resume',
] as const

/** Validates a `subscribe_reference` message; throws `Problem`. */
export function parseReference(request: RawRequest): ReferenceRequest {
  refuseUnknownMembers(request, REFERENCE_PARAMS)
  const { feed } = request
  return {
    id: readId(request),
    asset: readText(request['asset'], 'asset', 20),
    feed: feed === undefined ? undefined : FEED_PARAM.parse(readText(feed, 'feed', 32), 'feed'),
    style: readStyle(request),
    resume: readResume(request['resume']).books,
  }
}

/** Reads the id of a subscription or replay; throws `Problem`. */
export function readId(request: RawRequest): string {
  return readText(request['id'], 'id', 64)
}

function readConflation(value: unknown): number {
  if (value === undefined) return 0
  if (!Number.isInteger(value) || (value as number) < 10 || (value as number) > MAX_CONFLATE_MS) {
    throw new Problem('invalid_parameter', `conflate_ms is ${showMember(value)}`, {
      param: 'conflate_ms',
      hint: `A whole number from 10 to ${MAX_CONFLATE_MS}; without it every row is sent.`,
    })
  }
  return value as number
}

function readResume(value: unknown): SubscriptionChoice['resume'] {
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

/** An error that only the stream has, such as an unknown operation. */
export class StreamProblem extends Error {
  readonly code: StreamErrorCode
  readonly fields: Problem['fields']

  constructor(code: StreamErrorCode, detail: string = STREAM_ERRORS[code], hint?: string) {
    super(detail)
    this.name = 'StreamProblem'
    this.code = code
    this.fields = hint === undefined ? {} : { hint }
  }
}
