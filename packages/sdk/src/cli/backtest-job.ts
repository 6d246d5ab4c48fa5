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
  type Revision,
} from '../backtest/index.ts'
import {
  parsedOption,
  timeOption,
  UsageError,
  wholeOption,
  wordOption,
  type OptionValues,
} from '../command-line/index.ts'
import type { ServiceAddress } from './command.ts'
import type { MarketName } from './options.ts'

/** A series of one's own on the command line: `NAME=FILE` or `NAME=FILE:COLUMN`. */
export type DataFile = {
  readonly name: string
  readonly path: string
  readonly column: string | undefined
}

/** The job of a backtest worker: plain data, so that it can be sent to its thread. */
export type BacktestJob = {
  /** The module of the strategy, as a URL. */
  readonly strategy: string
  readonly files: readonly string[]
  readonly markets: readonly MarketName[]
  /** Assets whose reference prices come from the service too. */
  readonly references: readonly string[]
  /** Series of one's own: a name, a file, and its column with the received time. */
  readonly data: readonly DataFile[]
  readonly client: ServiceAddress | undefined
  /** The records of the markets, where they were read with the files. */
  readonly revisions: readonly Revision[] | undefined
  readonly from: number | undefined
  readonly to: number | undefined
  readonly split: number | undefined
  readonly params: readonly Params[]
  /** Absent: all models, or one where the strategy is an object. */
  readonly queue: QueueModel | 'bracket' | undefined
  readonly cash: string
  readonly seed: number
  readonly latencyMicros: number
  readonly gapPolicy: GapPolicy
  readonly assume: Assumptions
  readonly why: number | undefined
}

/** The options of a run; those for data and results are with the command. */
export const RUN_OPTIONS = {
  params: parsedOption(
    'Parameters, such as size=10,edge=100|200|300: every combination is run over one reading.',
    { value: 'LIST' },
    parseParams,
  ),
  split: timeOption('Choose the best parameters before this time and show what they do after it.'),
  queue: wordOption(
    ['bracket', ...QUEUE_MODELS],
    'How resting orders queue; bracket runs all three models, the default unless the strategy is an object.',
    { value: 'MODEL' },
  ),
  cash: parsedOption('Collateral at each venue; 1000 by default.', { value: 'AMOUNT' }, parseCash),
  latency: parsedOption(
    'How long a decision takes to reach the book; 50 by default.',
    { value: 'MS' },
    parseLatency,
  ),
  'gap-policy': wordOption(
    GAP_POLICIES,
    'Resting orders where a gap begins: cancel (default) or freeze.',
    { value: 'POLICY' },
  ),
  seed: wholeOption(999_999_999, 'The seed of everything random; 1 by default.'),
  assume: parsedOption(
    'Facts that no record states: venueb-maker=none, venueb-tick=0.01, venuec-fees=none, …',
    { value: 'LIST' },
    parseAssume,
  ),
}

/** Reads `size=10,edge=100|200` as every combination. */
function parseParams(text: string): Params[] {
  if (text === '') return [{}]
  const values: Record<string, Params[string][]> = {}
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at < 1 || name === '' || name === '__proto__') {
      throw new UsageError(`--params holds ${part}`, 'It is NAME=VALUE or NAME=VALUE|VALUE.')
    }
    values[name] = part
      .slice(at + 1)
      .split('|')
      .map(parseValue)
  }
  const cells = grid(values)
  if (cells.length > MOST_CELLS) {
    throw new UsageError(`--params makes ${cells.length} runs`, `At most ${MOST_CELLS}.`)
  }
  return cells
}

const MOST_CELLS = 1000

function parseValue(text: string): Params[string] {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Reads `venueb-maker=none,venueb-tick=0.01,venuec-fees=none`. */
function parseAssume(text: string): Assumptions {
  const fees: Record<string, unknown> = {}
  const rules: Partial<Record<VenueId, { tick: string }>> = {}
  for (const part of text === '' ? [] : text.split(',')) {
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

function wrongAssumption(part: string): UsageError {
  return new UsageError(
    `--assume holds ${part}`,
    `It is venueb-maker=none or =quadratic, or VENUE-tick=0.01, VENUE-fees=none with one of ${VENUE_IDS.join(', ')}.`,
  )
}

function parseCash(text: string): string {
  try {
    if (parseMoney(text) >= 0) return text
  } catch {
    // Refused below.
  }
  throw new UsageError(`--cash is ${text}`, 'It is an amount, such as 1000 or 250.50.')
}

function parseLatency(text: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return Math.round(Number(text) * 1000)
  throw new UsageError(`--latency is ${text}`, 'It is a number of milliseconds.')
}

/** Reads the options of a run. */
export function runOptionsOf(
  options: OptionValues<typeof RUN_OPTIONS>,
): Pick<
  BacktestJob,
  'params' | 'queue' | 'cash' | 'seed' | 'latencyMicros' | 'gapPolicy' | 'assume'
> {
  const { params = [{}], queue, cash = '1000', seed = 1 } = options
  const { latency: latencyMicros = 50_000, 'gap-policy': gapPolicy = 'cancel' } = options
  const { assume = parseAssume('') } = options
  return { params, queue, cash, seed, latencyMicros, gapPolicy, assume }
}
