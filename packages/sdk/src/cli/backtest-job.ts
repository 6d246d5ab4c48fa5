import { isVenueId, VENUE_IDS, type VenueId } from '../domain/index.ts'
import {
  GAP_POLICIES,
  grid,
  parseMoney,
  QUEUE_MODELS,
  type Assumptions,
  type GapPolicy,
  type Params,
  type QueueModel,
} from '../backtest/index.ts'
import type { ClientOptions } from '../client/index.ts'
import { countOf, textOf, type MarketName } from './args.ts'
import type { Option, OptionValues } from './command.ts'
import { CliError } from './exit-codes.ts'

/** The job of a backtest worker: plain data, so that it can be sent to its thread. */
export type BacktestJob = {
  /** The module of the strategy, as a URL. */
  readonly strategy: string
  readonly files: readonly string[]
  readonly markets: readonly MarketName[]
  readonly client: Pick<ClientOptions, 'url' | 'key' | 'demo'> | undefined
  readonly from: number | undefined
  readonly to: number | undefined
  readonly split: number | undefined
  readonly params: readonly Params[]
  readonly queue: QueueModel | 'bracket'
  readonly cash: string
  readonly seed: number
  readonly latencyMicros: number
  readonly gapPolicy: GapPolicy
  readonly assume: Assumptions
  readonly why: number | undefined
}

/** The options of a run; those for data and results are with the command. */
export const RUN_OPTIONS: Readonly<Record<string, Option>> = {
  params: {
    type: 'string',
    value: 'LIST',
    about:
      'Parameters, such as size=10,edge=100|200|300: every combination is run over one reading.',
  },
  split: {
    type: 'string',
    value: 'TIME',
    about: 'Choose the best parameters before this time and show what they do after it.',
  },
  queue: {
    type: 'string',
    value: 'MODEL',
    words: ['bracket', ...QUEUE_MODELS],
    about: 'How resting orders queue; bracket (default) runs all three models.',
  },
  cash: { type: 'string', value: 'AMOUNT', about: 'Collateral at each venue; 1000 by default.' },
  latency: {
    type: 'string',
    value: 'MS',
    about: 'From a decision until it meets the book; 50 by default.',
  },
  'gap-policy': {
    type: 'string',
    value: 'POLICY',
    words: GAP_POLICIES,
    about: 'Resting orders where a gap begins: cancel (default) or freeze.',
  },
  seed: { type: 'string', value: 'N', about: 'Of everything random; 1 by default.' },
  assume: {
    type: 'string',
    value: 'LIST',
    about: 'What no record says: venueb-maker=none, venueb-tick=0.01, venuec-fees=none, …',
  },
}

/** Reads `size=10,edge=100|200` as every combination. */
function parseParams(text: string | undefined): Params[] {
  if (text === undefined || text === '') return [{}]
  const values: Record<string, Params[string][]> = {}
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at < 1 || name === '' || name === '__proto__') {
      throw new CliError('usage', `--params holds ${part}`, 'It is NAME=VALUE or NAME=VALUE|VALUE.')
    }
    values[name] = part
      .slice(at + 1)
      .split('|')
      .map(parseValue)
  }
  const cells = grid(values)
  if (cells.length > MOST_CELLS) {
    throw new CliError('usage', `--params makes ${cells.length} runs`, `At most ${MOST_CELLS}.`)
  }
  return cells
}

const MOST_CELLS = 1000

function parseValue(text: string): Params[string] {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Reads `venueb-maker=none,venueb-tick=0.01,venuec-fees=none`. */
function parseAssume(text: string | undefined): Assumptions {
  const fees: Record<string, unknown> = {}
  const rules: Partial<Record<VenueId, { tick: string }>> = {}
  for (const part of text === undefined || text === '' ? [] : text.split(',')) {
    const [name = '', value = ''] = part.trim().split('=')
    const [venue, what] = name.split('-')
    if (!isVenueId(venue)) throw wrongAssumption(part)
    if (what === 'tick' && /^0?\.\d{1,4}$/.test(value)) rules[venue] = { tick: value }
    else if (what === 'fees' && value === 'none') fees[venue] = { kind: 'none' }
    else if (name === 'venueb-maker' && (value === 'none' || value === 'quadratic')) {
      fees['venuebMaker'] = value
    } else throw wrongAssumption(part)
  }
  return { fees, rules }
}

function wrongAssumption(part: string): CliError {
  return new CliError(
    'usage',
    `--assume holds ${part}`,
    `It is venueb-maker=none or =quadratic, or VENUE-tick=0.01, VENUE-fees=none with one of ${VENUE_IDS.join(', ')}.`,
  )
}

/** Reads the options of a run. */
export function runOptionsOf(
  options: OptionValues,
): Pick<
  BacktestJob,
  'params' | 'queue' | 'cash' | 'seed' | 'latencyMicros' | 'gapPolicy' | 'assume'
> {
  const cash = textOf(options, 'cash') ?? '1000'
  try {
    if (parseMoney(cash) < 0) throw new Error('below zero')
  } catch {
    throw new CliError('usage', `--cash is ${cash}`, 'It is an amount, such as 1000 or 250.50.')
  }
  const latency = textOf(options, 'latency') ?? '50'
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(latency)) {
    throw new CliError('usage', `--latency is ${latency}`, 'It is a number of milliseconds.')
  }
  return {
    params: parseParams(textOf(options, 'params')),
    queue: (textOf(options, 'queue') ?? 'bracket') as BacktestJob['queue'],
    cash,
    seed: countOf(options, 'seed', 999_999_999) ?? 1,
    latencyMicros: Math.round(Number(latency) * 1000),
    gapPolicy: (textOf(options, 'gap-policy') ?? 'cancel') as GapPolicy,
    assume: parseAssume(textOf(options, 'assume')),
  }
}
