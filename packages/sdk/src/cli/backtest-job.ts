import { isVenueId, VENUE_IDS, windowMicros, type VenueId } from '../domain/index.ts'
import {
  GAP_POLICIES,
  grid,
  parseMoney,
  QUEUE_MODELS,
  type AccountLimits,
  type Assumptions,
  type GapPolicy,
  randomParams,
  type Params,
  type ParamRange,
  type ParamSpace,
  type QueueModel,
  type Revision,
  type WalkWindow,
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
import { delaysOf, LATENCY_OPTIONS, type DelaySettings } from './latency-options.ts'
import { LIMITS_OPTION } from './limits-option.ts'
import type { MarketName } from './options.ts'

/** A series of one's own on the command line: `NAME=FILE` or `NAME=FILE:COLUMN`. */
export type DataFile = {
  readonly name: string
  readonly path: string
  readonly column: string | undefined
}

/** The job of a backtest worker: plain data, so that it can be sent to its thread. */
export type BacktestJob = Required<DelaySettings> & {
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
  /** The windows of a walk forward; empty without one. */
  readonly windows: readonly WalkWindow[]
  readonly params: readonly Params[]
  /** How many sets of parameters run in all workers. */
  readonly sets: number
  /** Absent: all models, or one where the strategy is an object. */
  readonly queue: QueueModel | 'bracket' | undefined
  readonly cash: string
  readonly seed: number
  /** Absent where the account has none. */
  readonly limits: AccountLimits | undefined
  readonly gapPolicy: GapPolicy
  readonly assume: Assumptions
  readonly why: number | undefined
  /** Where the log goes; one run with one queue model. */
  readonly log: string | undefined
}

/** The lengths of a walk forward, in microseconds. */
export type WalkLengths = { readonly train: number; readonly test: number }

// Max runs of a sweep.
const MOST_CELLS = 1000

/** The options of a run; those for data and results are with the command. */
export const RUN_OPTIONS = {
  params: parsedOption(
    'Parameters, such as size=10,edge=100|200|300: every combination is run over one reading.',
    { value: 'LIST' },
    parseParams,
  ),
  random: wholeOption(
    MOST_CELLS,
    'Draw this many sets of --params, which may have ranges: edge=100..300.',
  ),
  'walk-forward': parsedOption(
    'Choose parameters on each span and test them on the next one, such as 6h/2h.',
    { value: 'TRAIN/TEST' },
    parseWalk,
  ),
  workers: wholeOption(64, 'Spread the runs of a sweep over this many threads; 1 by default.'),
  split: timeOption('Choose the best parameters before this time and show what they do after it.'),
  queue: wordOption(
    ['bracket', ...QUEUE_MODELS],
    'How resting orders queue; bracket runs all three models, the default unless the strategy is an object.',
    { value: 'MODEL' },
  ),
  cash: parsedOption('Collateral at each venue; 1000 by default.', { value: 'AMOUNT' }, parseCash),
  ...LATENCY_OPTIONS,
  limits: LIMITS_OPTION,
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

/** Reads `size=10,edge=100|200,hold=30..90` as the values of each parameter. */
function parseParams(text: string): ParamSpace {
  const space: Record<string, ParamSpace[string]> = {}
  for (const part of text === '' ? [] : text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at < 1 || name === '' || name === '__proto__') {
      const hint = 'It is NAME=VALUE, NAME=VALUE|VALUE, or NAME=LOW..HIGH with --random.'
      throw new UsageError(`--params holds ${part}`, hint)
    }
    const values = part.slice(at + 1)
    space[name] = parseRange(values) ?? values.split('|').map(parseValue)
  }
  return space
}

function parseRange(text: string): ParamRange | undefined {
  const [, low, high] = /^(-?\d+(?:\.\d{1,8})?)\.\.(-?\d+(?:\.\d{1,8})?)$/.exec(text) ?? []
  if (low === undefined || high === undefined) return undefined
  const decimals = Math.max(...[low, high].map((bound) => bound.split('.')[1]?.length ?? 0))
  return { low: Number(low), high: Number(high), decimals }
}

function parseValue(text: string): Params[string] {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** The sets of parameters to run: every combination, or some random ones. */
function setsOf(space: ParamSpace, random: number | undefined, seed: number): Params[] {
  if (random !== undefined) return randomParams(space, random, seed)
  const lists: Record<string, readonly Params[string][]> = {}
  for (const [name, values] of Object.entries(space)) {
    if ('low' in values) {
      throw new UsageError(`--params has a range for ${name}`, 'Add --random N to draw from it.')
    }
    lists[name] = values
  }
  const cells = grid(lists)
  if (cells.length > MOST_CELLS) {
    throw new UsageError(`--params makes ${cells.length} runs`, `At most ${MOST_CELLS}.`)
  }
  return cells
}

function parseWalk(text: string): WalkLengths {
  const [, train, test] = /^(\w+)\/(\w+)$/.exec(text) ?? []
  const lengths = [train, test].map((word) => (word === undefined ? undefined : windowMicros(word)))
  if (lengths[0] === undefined || lengths[1] === undefined) {
    throw new UsageError(
      `--walk-forward is ${text}`,
      'It is TRAIN/TEST, such as 6h/2h: lengths in minutes (m), hours (h) or days (d).',
    )
  }
  return { train: lengths[0], test: lengths[1] }
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

type RunSettings = Pick<
  BacktestJob,
  'params' | 'sets' | 'queue' | 'cash' | 'seed' | 'limits' | 'gapPolicy' | 'assume'
> &
  Required<DelaySettings>

/** Reads the options of a run. */
export function runOptionsOf(options: OptionValues<typeof RUN_OPTIONS>): RunSettings {
  const { queue, cash = '1000', seed = 1, limits } = options
  const params = setsOf(options.params ?? {}, options.random, seed)
  const { assume = parseAssume(''), 'gap-policy': gapPolicy = 'cancel' } = options
  const common = { params, sets: params.length, queue, cash, seed, limits, gapPolicy, assume }
  return { ...common, ...delaysOf(options) }
}
