import {
  PriorbookError,
  VENUES,
  type Gap,
  type GapEvent,
  type Micros,
  type TapeEvent,
} from '@priorbook/sdk/domain'
import type {
  Arrival,
  CaptureRequest,
  FeedReading,
  MessageProblem,
  Normalized,
} from '../../capture/contract.ts'
import { show, wrong } from '../../capture/fields.ts'
import { checkpointFacts, type Checkpoint } from './checkpoints.ts'
import { decodeOrderFilled } from './order-filled.ts'
import {
  CHAIN_AGAIN,
  CHAIN_BLOCK,
  CHAIN_LOGS,
  CHAIN_LOST,
  CHAIN_START,
  readCheckpoint,
  readLogsContext,
  readLostBounds,
  readRange,
  readReorganized,
  type LogsContext,
  type Reorganized,
} from './requests.ts'
import { readBlock, readEvent, readEvents, readOutcome, type ChainLog } from './rpc-values.ts'
import { isSumOfMatch, readExchanged, toMovedId, toTrade, toTradeId } from './to-trade.ts'

/** Derives trades and gaps from an answer of the chain. */
export function normalizeChain(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  switch (request.kind) {
    case CHAIN_START:
      return { events: [], problems: [], feed: toFeed(readCheckpoint(request, at.received), at) }
    case CHAIN_BLOCK:
      if (readBlock(readResult(value)) === undefined) throw wrong('result', null, 'a block')
      return { events: [], problems: [] }
    case CHAIN_LOGS:
      return normalizeLogs(request, value, at)
    case CHAIN_AGAIN:
      return readTrades(readLogsContext(request), value, at)
    case CHAIN_LOST:
      return normalizeLost(request, value, at)
    default:
      throw new PriorbookError('unknown_event', `the chain has no request ${show(request.kind)}`)
  }
}

function normalizeLogs(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  const checkpoint = readCheckpoint(request, at.received)
  const { events, problems } = readTrades(readLogsContext(request), value, at)
  const reorganized = readReorganized(request)
  const gaps = reorganized === undefined ? [] : [toReorganizedGap(reorganized, at)]
  return { events: [...gaps, ...events], problems, feed: toFeed(checkpoint, at) }
}

function normalizeLost(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  const outcome = readOutcome(value)
  if (outcome.type !== 'refused') throw wrong('the answer', value, 'a refusal')
  const { from, to } = readRange(request)
  const { received, ...source } = readLostBounds(request)
  const detail = `${printRange(from, to)} could not be read: ${outcome.message}`
  const lost = { reason: 'unavailable', start: received, ...source, detail } as const
  // A range that was read for a market found late does not move the position.
  if (request['checkpoint'] === undefined) return { events: [toGap(at, lost)], problems: [] }
  const checkpoint = readCheckpoint(request, at.received)
  const gap = toGap(at, { ...lost, sourceEnd: checkpoint.time as Micros })
  return { events: [gap], problems: [], feed: toFeed(checkpoint, at) }
}

function readTrades(context: LogsContext, value: unknown, at: Arrival): Normalized {
  const events: TapeEvent[] = []
  const problems: MessageProblem[] = []
  const seen = new Set<string>()
  readEvents(readResult(value)).forEach((item, index) => {
    try {
      const trade = readTrade(context, readEvent(item), seen, at)
      if (trade !== undefined) events.push(trade)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `result[${index}]`, error })
    }
  })
  return { events, problems }
}

// Undefined for an event that is not a trade of one of the tokens, or was in the answer before.
function readTrade(
  context: LogsContext,
  log: ChainLog,
  seen: Set<string>,
  at: Arrival,
): TapeEvent | undefined {
  const { from, to, exchanges, decimals, tokens, times, moved } = context
  if (log.isRemoved) return undefined
  if (log.block < from || log.block > to) {
    throw wrong('blockNumber', log.block, `a block of the requested ${printRange(from, to)}`)
  }
  if (!exchanges.includes(log.address)) throw wrong('address', log.address, 'a requested contract')
  const filled = decodeOrderFilled(log)
  if (isSumOfMatch(filled, log)) return undefined
  const exchanged = readExchanged(filled)
  const place = exchanged === undefined ? undefined : tokens.get(String(exchanged.token))
  if (exchanged === undefined || place === undefined) return undefined
  const id = toTradeId(log)
  if (seen.has(id)) return undefined
  seen.add(id)
  const rowId = moved.has(id) ? toMovedId(id, log.block) : id
  const time = log.time ?? times.get(log.block)
  if (time === undefined) throw wrong('the time of the block', undefined, 'known')
  return toTrade({ id: rowId, log, filled, exchanged, place, time: time as Micros }, decimals, at)
}

function readResult(value: unknown): unknown {
  const outcome = readOutcome(value)
  if (outcome.type === 'result') return outcome.result
  throw wrong('the answer', outcome.message, 'a result')
}

// While nothing can be written the position does not move, and the range is read again.
function toFeed(checkpoint: Checkpoint, { journal }: Arrival): FeedReading {
  const facts = journal === 0 ? {} : checkpointFacts(checkpoint)
  return { source: checkpoint.time as Micros, facts }
}

// Max ids of trades that a gap names.
const SHOWN_IDS = 20

function toReorganizedGap(reorganized: Reorganized, at: Arrival): GapEvent {
  const { from, to, received, sourceStart, sourceEnd, removed } = reorganized
  const shown = removed.slice(0, SHOWN_IDS).join(', ')
  const more = removed.length > SHOWN_IDS ? ` and ${removed.length - SHOWN_IDS} more` : ''
  const named = removed.length === 0 ? '' : `; these trades are not on the chain: ${shown}${more}`
  return toGap(at, {
    reason: 'reorganized',
    start: received as Micros,
    sourceStart: sourceStart as Micros,
    sourceEnd: sourceEnd as Micros,
    detail: `${printRange(from, to)} replaced on the chain after reading${named}`,
  })
}

function toGap(
  { received, journal }: Arrival,
  gap: Pick<Gap, 'reason' | 'start' | 'sourceStart' | 'sourceEnd' | 'detail'>,
): GapEvent {
  const key = VENUES.venuea.tradesKey!
  const end = Math.max(received, gap.start) as Micros
  const place = { venue: 'venuea', scope: 'instrument', key, afterSequence: 0 } as const
  return { kind: 'gap', gap: { ...place, ...gap, end, journal, endJournal: journal } }
}

function printRange(from: number, to: number): string {
  return from === to ? `block ${from}` : `blocks ${from} to ${to}`
}
