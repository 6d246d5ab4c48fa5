import type { Json, Micros } from '@priorbook/sdk/domain'
import type { CaptureRequest } from '../../capture/contract.ts'
import { readArray, readCounter, readId, readObject, wrong } from '../../capture/fields.ts'
import { readVenueId } from '../native.ts'
import type { Checkpoint } from './checkpoints.ts'
import type { TokenPlace } from './to-trade.ts'

/**
 * What the reader of the chain journals in front of an answer. It contains everything that deriving
 * trades needs beside the answer, so that the journal alone gives the same rows again.
 */

/** The first block: reading begins after it. */
export const CHAIN_START = 'chain_start'
/** The head of a block, for its time. */
export const CHAIN_BLOCK = 'chain_block'
/** The events of a range that follows the last one. */
export const CHAIN_LOGS = 'chain_logs'
/** The same events again, for markets that were found later. */
export const CHAIN_AGAIN = 'chain_again'
/** A range that the endpoint refuses for good, although it has later ones. */
export const CHAIN_LOST = 'chain_lost'

/** True for a request to the chain. */
export function isChainRequest(request: CaptureRequest): boolean {
  // A note of the journal may contain anything.
  const kind: unknown = (request as CaptureRequest | null)?.kind
  return typeof kind === 'string' && kind.startsWith('chain_')
}

/** A range of blocks, both ends included. */
export type BlockRange = { readonly from: number; readonly to: number }

/** What is needed to read events: whose, with which decimals, of which tokens, at which times. */
export type LogsContext = BlockRange & {
  readonly exchanges: readonly string[]
  readonly decimals: number
  /** By token id, in decimal. */
  readonly tokens: ReadonlyMap<string, TokenPlace>
  /** The times of the blocks with events of these tokens. */
  readonly times: ReadonlyMap<number, number>
  /** Trades that were read before in another block, which was replaced. */
  readonly moved: ReadonlySet<string>
}

/** Blocks that were read and later replaced by others. */
export type Reorganized = BlockRange & {
  /** When the last good block was read, its time, and the time of the last replaced block. */
  readonly received: number
  readonly sourceStart: number
  readonly sourceEnd: number
  /** Trades that are not in the new blocks, where all of them were read again. */
  readonly removed: readonly string[]
}

/** The position after an answer. */
export type NextCheckpoint = Pick<Checkpoint, 'ordinal' | 'block' | 'hash' | 'time'>

/** Prints the context of events as fields of a request. */
export function printLogs(kind: string, context: LogsContext): CaptureRequest {
  const { from, to, exchanges, decimals, tokens, times, moved } = context
  const places = [...tokens].map(([token, { market, outcome }]) => [token, [market, outcome]])
  return {
    kind,
    from,
    to,
    exchanges,
    decimals,
    tokens: Object.fromEntries(places) as Json,
    times: Object.fromEntries(times),
    ...(moved.size === 0 ? {} : { moved: [...moved] }),
  }
}

/** Reads the context of events. */
export function readLogsContext(request: CaptureRequest): LogsContext {
  const tokens = new Map<string, TokenPlace>()
  for (const [token, place] of Object.entries(readObject(request['tokens'], 'tokens'))) {
    const [market, outcome] = readArray(place, 'the place of a token')
    tokens.set(token, {
      market: readVenueId(market, 'the market of a token'),
      outcome: readCounter(outcome, 'the outcome of a token'),
    })
  }
  const times = new Map<number, number>()
  for (const [block, time] of Object.entries(readObject(request['times'], 'times'))) {
    times.set(Number(block), readCounter(time, 'the time of a block'))
  }
  // Journals of earlier versions do not have it.
  const moved = request['moved'] === undefined ? [] : readArray(request['moved'], 'moved')
  const decimals = readCounter(request['decimals'], 'decimals')
  if (decimals > MAX_DECIMALS) throw wrong('decimals', decimals, `at most ${MAX_DECIMALS}`)
  return {
    ...readRange(request),
    exchanges: readArray(request['exchanges'], 'exchanges').map((one) => readId(one, 'exchange')),
    decimals,
    tokens,
    times,
    moved: new Set(moved.map((id) => readId(id, 'a trade id'))),
  }
}

const MAX_DECIMALS = 36

/** Reads the range of a request. */
export function readRange(request: CaptureRequest): BlockRange {
  return { from: readCounter(request['from'], 'from'), to: readCounter(request['to'], 'to') }
}

/** Prints the position after an answer. */
export function printCheckpoint({ ordinal, block, hash, time }: NextCheckpoint): Json {
  return [ordinal, block, hash, time]
}

/** Reads the position after an answer. */
export function readCheckpoint(request: CaptureRequest, received: number): Checkpoint {
  const values = readArray(request['checkpoint'], 'checkpoint')
  const [ordinal, block, hash, time] = [0, 1, 2, 3].map((at) =>
    readCounter(values[at], 'a number of the checkpoint'),
  ) as [number, number, number, number]
  return { ordinal, block, hash, time, received }
}

/** Prints what a reorganization replaced. */
export function printReorganized(reorganized: Reorganized): Json {
  const { from, to, received, sourceStart, sourceEnd, removed } = reorganized
  return { from, to, received, source_start: sourceStart, source_end: sourceEnd, removed }
}

/** Reads what a reorganization replaced; undefined where there was none. */
export function readReorganized(request: CaptureRequest): Reorganized | undefined {
  const value: unknown = request['reorganized']
  if (value === undefined) return undefined
  const object = readObject(value, 'reorganized')
  const at = (name: string): number => readCounter(object[name], name)
  return {
    from: at('from'),
    to: at('to'),
    received: at('received'),
    sourceStart: at('source_start'),
    sourceEnd: at('source_end'),
    removed: readArray(object['removed'], 'removed').map((id) => readId(id, 'a trade id')),
  }
}

/** Where a lost range begins in time: when the block before it was read, and the time of that block. */
export type LostBounds = { readonly received: Micros; readonly sourceStart?: Micros }

/** Reads where a lost range begins. */
export function readLostBounds(request: CaptureRequest): LostBounds {
  const received = readCounter(request['received'], 'received') as Micros
  const source: unknown = request['source_start']
  if (source === undefined) return { received }
  return { received, sourceStart: readCounter(source, 'source_start') as Micros }
}
