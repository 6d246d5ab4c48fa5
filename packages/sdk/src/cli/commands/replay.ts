import { existsSync, statSync } from 'node:fs'
import { sleep } from '../../client/backoff.ts'
import { parsedOption, UsageError, wordOption } from '../../command-line/index.ts'
import { flagNames, parseMicros, printMicros, printScaled, VENUES } from '../../domain/index.ts'
import type { ReplayEvent } from '../../replay/index.ts'
import type { LadderSide } from '../../tape/index.ts'
import { toGapJson, toMarketJson, type MarketSelector } from '../../wire/index.ts'
import { defineCommand, type CliContext } from '../command.ts'
import { CliError } from '../errors.ts'
import {
  DEPTH_OPTION,
  FAMILY_OPTIONS,
  parseMarket,
  present,
  RANGE_OPTIONS,
  REFERENCES_OPTION,
} from '../options.ts'

const OPTIONS = {
  ...FAMILY_OPTIONS,
  references: REFERENCES_OPTION,
  ...RANGE_OPTIONS,
  speed: parsedOption(
    'Recorded pace times N; max (the default) is as fast as possible.',
    { value: 'N' },
    parseSpeed,
  ),
  mode: wordOption(
    ['full', 'changes'],
    'Whole books (default) or changed levels; from the service.',
    { value: 'MODE' },
  ),
  ...DEPTH_OPTION,
}

type Context = CliContext<typeof OPTIONS>

/** `replay`: recorded events as JSON lines, from the service or from files. */
export const REPLAY = defineCommand({
  name: 'replay',
  args: '[MARKET|FILE]...',
  about: 'Replay recorded events to standard output as JSON lines, merged by received time.',
  more:
    'Files are downloads of the formats tape and ndjson, of any markets; they need no server. Markets ' +
    'come from the service over its socket, and the number of rows is checked at the end.',
  options: OPTIONS,
  examples: [
    'priorbook replay venueb:KXBTC15M-26AUG111515-15 --start 2026-08-11T15:00:00Z --end 2026-08-11T15:15:00Z',
    'priorbook replay --venue venueb --series KXBTC15M --start 2026-08-11 --end 2026-08-12 --speed 60',
    'priorbook replay books.pbx trades.ndjson',
  ],
  async run(context) {
    const { args } = context
    const files = args.filter((name) => FILE_NAME.test(name) || isFile(name))
    const other = args.find((name) => !files.includes(name))
    if (files.length > 0 && other !== undefined) {
      const hint = 'Files are replayed without the service; name markets in a call of their own.'
      throw new UsageError(`there is no file ${other}`, hint)
    }
    const missing = files.find((name) => !existsSync(name))
    if (missing !== undefined) throw new CliError('not_found', `there is no ${missing}`)
    await (files.length > 0 ? replayLocal(context) : replayServed(context))
  },
})

// A folder may have the name of a market.
function isFile(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isFile() ?? false
}

const FILE_NAME = /\.(pbx|ndjson)$/

// Lines are written in pieces of about this size: one write per row would dominate the cost.
const PIECE = 1 << 16

async function replayLocal(context: Context): Promise<void> {
  const { args, options, io, signal } = context
  for (const name of ['venue', 'series', 'asset', 'window', 'references', 'mode'] as const) {
    if (options[name] === undefined) continue
    throw new UsageError(`--${name} has no meaning for files`)
  }
  const { speed = 'max', start, end, depth } = options
  // Only here: it needs zstd, which Node has since 22.15.
  const { replayFiles } = await import('../../replay/replay-node.ts')
  const replay = replayFiles(args, {
    signal,
    ...(start === undefined ? {} : { start: parseMicros(start) }),
    ...(end === undefined ? {} : { end: parseMicros(end) }),
  })
  let text = ''
  let first: { readonly at: number; readonly now: number } | undefined
  for await (const batch of replay) {
    for (const event of batch) {
      text += `${eventLine(event, depth)}\n`
      if (speed !== 'max') {
        first ??= { at: event.at, now: performance.now() }
        const due = first.now + (event.at - first.at) / 1000 / speed - performance.now()
        if (due > 1) {
          await io.write(text)
          text = ''
          await sleep(due, signal)
        }
      }
      if (text.length < PIECE) continue
      await io.write(text)
      text = ''
    }
  }
  await io.write(text)
}

async function replayServed(context: Context): Promise<void> {
  const { options, io, signal } = context
  const { start, end = new Date().toISOString(), speed = 'max', mode, depth } = options
  const references = options.references?.map((asset) => ({ asset }))
  if (start === undefined) {
    const hint =
      'Such as --start 2026-08-11T15:00:00Z, or --start 15m for the last fifteen minutes.'
    throw new UsageError('--start is missing', hint)
  }
  const replay = context.client().socketReplay(
    {
      markets: marketsOf(context),
      start_time: start,
      end_time: end,
      speed,
      number_format: 'string',
      ...present({ depth, mode, references }),
    },
    { signal },
  )
  const isPaced = speed !== 'max'
  let text = ''
  for await (const message of replay) {
    text += `${JSON.stringify(message)}\n`
    if (text.length < PIECE && !isPaced) continue
    await io.write(text)
    text = ''
  }
  await io.write(text)
  signal.throwIfAborted()
}

function marketsOf({ args, options }: Context): MarketSelector[] {
  const { venue, series, asset, window } = options
  const markets: MarketSelector[] = args.map(parseMarket)
  if (venue !== undefined) markets.push({ venue, ...present({ series, asset, window }) })
  if (markets.length === 0) {
    const hint =
      'Such as venueb:KXBTC15M-26AUG111515-15, --venue venueb --series KXBTC15M, or a file.'
    throw new UsageError('nothing to replay is named', hint)
  }
  return markets
}

function parseSpeed(text: string): number | 'max' {
  if (text === 'max') return 'max'
  const speed = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : 0
  if (speed > 0) return speed
  throw new UsageError(`--speed is ${text}`, 'It is a number above 0, such as 10, or max.')
}

/** One event of a replay as a JSON line, in the words of the stream; decimals as text. */
function eventLine(event: ReplayEvent, depth = Infinity): string {
  return JSON.stringify(toValue(event, depth))
}

function toValue(event: ReplayEvent, depth: number): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case 'book': {
      const { instrument, ladder, flags } = event
      const side = ({ price, size }: LadderSide): object => ({
        price: price.map((ticks) => printScaled(ticks, ladder.decimals)),
        size: size.map((units) => printScaled(units, instrument.sizeDecimals)),
      })
      return {
        type: 'book',
        id: `${instrument.venue}:${instrument.key}:${event.sequence}`,
        ...placeOf(event),
        flags: flagNames(flags),
        bid_levels: ladder.bidLevels,
        ask_levels: ladder.askLevels,
        bids: side(ladder.bids(depth)),
        asks: side(ladder.asks(depth)),
      }
    }
    case 'trade': {
      const { instrument } = event
      const { priceDecimals, sizeDecimals } = VENUES[instrument.venue]
      return {
        type: 'trade',
        id: `${instrument.venue}:${instrument.key}/trade:${event.sequence}`,
        ...placeOf(event),
        trade_id: event.tradeId,
        price: printScaled(event.price, priceDecimals),
        size: printScaled(event.size, sizeDecimals),
        taker_side: event.taker ?? null,
        flags: flagNames(event.flags),
      }
    }
    case 'sample': {
      const { instrument, metric, value } = event
      return {
        type: 'sample',
        id: `${instrument.venue}:${instrument.key}/${metric}:${event.sequence}`,
        ...placeOf({ ...event, source: undefined }),
        [metric]: value,
      }
    }
    case 'reference': {
      const { venue, feed, asset, sequence, at, source, price, flags } = event
      return {
        type: 'reference',
        id: `${venue}:reference/${feed}/${asset}/price:${sequence}`,
        venue,
        feed,
        asset,
        source_time: source === undefined ? null : printMicros(source),
        received_time: printMicros(at),
        sequence,
        price,
        flags: flagNames(flags),
      }
    }
    case 'market':
      return {
        type: 'market',
        ...toMarketJson({ record: event.record, knownAt: event.at }, { numberFormat: 'string' }),
      }
    case 'gap':
      return { type: 'gap', edge: event.edge, ...toGapJson(event.gap) }
  }
}

type Placed = Pick<
  Extract<ReplayEvent, { readonly kind: 'book' }>,
  'instrument' | 'at' | 'source' | 'sequence'
>

function placeOf({ instrument, at, source, sequence }: Placed): Readonly<Record<string, unknown>> {
  return {
    venue: instrument.venue,
    market_id: instrument.marketId,
    outcome: instrument.outcome ?? null,
    token_id: instrument.tokenId ?? null,
    source_time: source === undefined ? null : printMicros(source),
    received_time: printMicros(at),
    sequence,
  }
}
