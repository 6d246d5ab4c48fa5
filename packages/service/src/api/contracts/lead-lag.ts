import { createRandom } from '@priorbook/sdk/backtest'
import { CLOCK_TICKS, type Move, type MoveClock } from './moves.ts'

/** The lags that are tried: whole steps from −`steps` to +`steps`. */
export type LagGrid = { readonly stepMicros: number; readonly steps: number }

// Why it is not decided who moves first.
type Undecided = 'too_few_moves' | 'no_peak' | 'edge_of_grid' | 'within_uncertainty'

/** How the moves of two books follow each other; positive delays mean that the second is later. */
export type LeadLag = {
  readonly firstMoves: number
  readonly secondMoves: number
  readonly verdict: 'first' | 'second' | 'not_decided'
  readonly reason: Undecided | undefined
  /** Undefined where there is no peak. */
  readonly peak: Peak | undefined
  /** By lag: the correlation in millionths, from the lowest lag on; empty where a book did not move. */
  readonly curve: readonly number[]
}

// Where the correlation is greatest.
type Peak = {
  readonly delayMicros: number
  readonly lowMicros: number
  readonly highMicros: number
  /** In millionths. */
  readonly correlation: number
  readonly pairCount: number
  /** Moves in the same direction that meet at the delay, the largest first. */
  readonly pairs: readonly { readonly first: Move; readonly second: Move }[]
}

/** What bounds the work of one pair; throws where exact sums would not fit. */
export type LeadLagOptions = {
  readonly clock: MoveClock
  readonly grid: LagGrid
  readonly start: number
  readonly end: number
  /** Lets other requests run. */
  readonly pause: () => Promise<void>
  /** Called where sums may exceed what whole numbers hold; must throw. */
  readonly onOverflow: () => never
}

// The least number of moves on each side.
const MIN_MOVES = 20
// Parts of the range that are drawn again, and how often.
const BLOCKS = 20
const DRAWS = 200
// Standard deviations of chance that a peak must have: it is the greatest of hundreds of lags.
const DEVIATIONS = 4n
// Pairs of moves that are listed.
const EVIDENCE = 10
// Draws below and above the interval: it holds 95 % of them.
const TAIL = DRAWS / 40
// A draw may take one block twenty times, so sums stay far below 2^53.
const MAX_SUM = 2 ** 53 / (2 * BLOCKS)
const MOVES_PER_PAUSE = 64

/** Estimates by the Hayashi–Yoshida covariance over a grid of lags who of two books moves first. */
export async function findLeadLag(
  first: readonly Move[],
  second: readonly Move[],
  options: LeadLagOptions,
): Promise<LeadLag> {
  const own = toTimed(first, options.clock)
  const other = toTimed(second, options.clock)
  const counts = { firstMoves: own.at.length, secondMoves: other.at.length }
  const undecided = (reason: Undecided, curve: readonly number[] = [], peak?: Peak): LeadLag => {
    return { ...counts, verdict: 'not_decided', reason, peak, curve }
  }
  if (own.at.length === 0 || other.at.length === 0) return undecided('too_few_moves')
  const blocks = await covariances(own, other, options)
  const total = sumOf(blocks, blocks.keys())
  const curve = toCorrelations(total, own.size, other.size)
  if (Math.min(own.at.length, other.at.length) < MIN_MOVES) return undecided('too_few_moves', curve)
  const top = plateauOf(total)
  if (top === undefined) return undecided('no_peak', curve)
  const { stepMicros, steps } = options.grid
  const draws = await drawPeaks(blocks, options)
  const slack = stepMicros / 2 + CLOCK_TICKS[options.clock]
  const toMicros = (place: number): number => (place - steps) * stepMicros
  const delayMicros = (toMicros(top.from) + toMicros(top.to)) / 2
  const lowMicros = Math.min(toMicros(draws[TAIL]!), toMicros(top.from)) - slack
  const highMicros = Math.max(toMicros(draws[DRAWS - 1 - TAIL]!), toMicros(top.to)) + slack
  const paired = meetingAt(own, other, delayMicros).filter(({ product }) => product > 0)
  // Sorting is stable, so equal ones stay in the order of time.
  paired.sort((a, b) => b.product - a.product)
  const peak = {
    delayMicros,
    lowMicros,
    highMicros,
    correlation: curve[top.from]!,
    pairCount: paired.length,
    pairs: paired.slice(0, EVIDENCE),
  }
  // Draws that are spread over half of the grid mean that a few coincidences make the peak.
  const isSpread = highMicros - lowMicros > steps * stepMicros
  if (isSpread || isChance(meetingAt(own, other, toMicros(top.from)))) {
    return undecided('no_peak', curve, peak)
  }
  if (top.from === 0 || top.to === total.length - 1) return undecided('edge_of_grid', curve, peak)
  if (lowMicros <= 0 && highMicros >= 0) return undecided('within_uncertainty', curve, peak)
  return { ...counts, verdict: lowMicros > 0 ? 'first' : 'second', reason: undefined, peak, curve }
}

/** Moves with the times of one clock: each happened after `from` and not later than `at`. */
type TimedMoves = {
  readonly moves: readonly Move[]
  readonly from: Float64Array
  readonly at: Float64Array
  /** In the greatest unit that divides all of them. */
  readonly size: Float64Array
}

function toTimed(moves: readonly Move[], clock: MoveClock): TimedMoves {
  const known = moves.filter((move) => move[clock] !== undefined)
  const unit = known.reduce((divisor, { size }) => commonDivisor(divisor, Math.abs(size)), 0)
  return {
    moves: known,
    from: Float64Array.from(known, (move) => move[clock]!.from),
    at: Float64Array.from(known, (move) => move[clock]!.at),
    size: Float64Array.from(known, ({ size }) => size / unit),
  }
}

function commonDivisor(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return x
}

/**
 * The covariance at every lag, apart for each block of time. Two moves count together at the lags at which
 * their spans overlap, so a pair adds its product to one run of lags; `runs` holds where runs begin and end.
 */
async function covariances(
  first: TimedMoves,
  second: TimedMoves,
  { grid, start, end, pause, onOverflow }: LeadLagOptions,
): Promise<readonly Float64Array[]> {
  const { stepMicros, steps } = grid
  const count = 2 * steps + 1
  const runs = Array.from({ length: BLOCKS }, () => new Float64Array(count + 1))
  const reach = steps * stepMicros
  let begin = 0
  let used = 0
  for (let i = 0; i < first.at.length; i++) {
    if (i % MOVES_PER_PAUSE === 0) await pause()
    const [from, at, size] = [first.from[i]!, first.at[i]!, first.size[i]!]
    const block = Math.floor(((at - start) * BLOCKS) / (end - start))
    const run = runs[Math.min(BLOCKS - 1, Math.max(0, block))]!
    while (begin < second.at.length && second.at[begin]! - from <= -reach) begin++
    for (let j = begin; j < second.at.length && second.from[j]! - at < reach; j++) {
      // The lags at which both spans overlap are those strictly between the two.
      const low = Math.max(-steps, Math.floor((second.from[j]! - at) / stepMicros) + 1)
      const high = Math.min(steps, Math.ceil((second.at[j]! - from) / stepMicros) - 1)
      if (low > high) continue
      const product = size * second.size[j]!
      used += Math.abs(product)
      run[low + steps] = run[low + steps]! + product
      run[high + steps + 1] = run[high + steps + 1]! - product
    }
    if (used > MAX_SUM) onOverflow()
  }
  return runs.map(accumulate)
}

function accumulate(runs: Float64Array): Float64Array {
  const sums = new Float64Array(runs.length - 1)
  let sum = 0
  for (let place = 0; place < sums.length; place++) sums[place] = sum += runs[place]!
  return sums
}

function sumOf(blocks: readonly Float64Array[], chosen: Iterable<number>): Float64Array {
  const total = new Float64Array(blocks[0]!.length)
  for (const block of chosen) {
    const own = blocks[block]!
    for (let place = 0; place < total.length; place++) total[place] = total[place]! + own[place]!
  }
  return total
}

// The covariance over the root of both sums of squares, in millionths, cut to a whole number: exact in any unit.
function toCorrelations(
  covariance: Float64Array,
  first: Float64Array,
  second: Float64Array,
): readonly number[] {
  const squares = (sizes: Float64Array): bigint =>
    sizes.reduce((sum, size) => sum + BigInt(size) * BigInt(size), 0n)
  const scale = squares(first) * squares(second)
  return Array.from(covariance, (value) => {
    const root = Number(squareRoot((BigInt(value) ** 2n * 10n ** 12n) / scale))
    return value < 0 ? -root : root
  })
}

/** The whole part of a square root. */
function squareRoot(value: bigint): bigint {
  if (value < 2n) return value
  let guess = BigInt(Math.floor(Math.sqrt(Number(value))))
  while (guess * guess > value) guess--
  while ((guess + 1n) * (guess + 1n) <= value) guess++
  return guess
}

/** The lags of the greatest covariance around the one nearest to 0; undefined where none is positive. */
function plateauOf(
  values: Float64Array,
): { readonly from: number; readonly to: number } | undefined {
  const middle = (values.length - 1) / 2
  let top = middle
  for (let distance = 0; distance <= middle; distance++) {
    for (const place of [middle - distance, middle + distance]) {
      if (values[place]! > values[top]!) top = place
    }
  }
  if (!(values[top]! > 0)) return undefined
  let [from, to] = [top, top]
  while (from > 0 && values[from - 1] === values[top]) from--
  while (to < values.length - 1 && values[to + 1] === values[top]) to++
  return { from, to }
}

/** The places of the peaks of draws of blocks with replacement, in order; the same draws every time. */
async function drawPeaks(
  blocks: readonly Float64Array[],
  { pause }: LeadLagOptions,
): Promise<readonly number[]> {
  const random = createRandom(1, 'lead-lag')
  const middle = (blocks[0]!.length - 1) / 2
  const places: number[] = []
  for (let draw = 0; draw < DRAWS; draw++) {
    await pause()
    const chosen = Array.from({ length: BLOCKS }, () => random.below(BLOCKS))
    const top = plateauOf(sumOf(blocks, chosen))
    // A draw without a peak says nothing: it counts alternately at both ends of the grid.
    places.push(top === undefined ? (draw % 2) * 2 * middle : (top.from + top.to) / 2)
  }
  return places.sort((a, b) => a - b)
}

type Meeting = { readonly first: Move; readonly second: Move; readonly product: number }

/** The pairs of moves whose spans overlap at a lag. */
function meetingAt(first: TimedMoves, second: TimedMoves, lag: number): Meeting[] {
  const pairs: Meeting[] = []
  let begin = 0
  for (const [i, move] of first.moves.entries()) {
    const [from, at] = [first.from[i]! + lag, first.at[i]! + lag]
    while (begin < second.at.length && second.at[begin]! <= from) begin++
    for (let j = begin; j < second.at.length && second.from[j]! < at; j++) {
      const product = first.size[i]! * second.size[j]!
      pairs.push({ first: move, second: second.moves[j]!, product })
    }
  }
  return pairs
}

// Where directions are independent, the covariance has the sum of the squared products as its variance.
function isChance(pairs: readonly Meeting[]): boolean {
  let [covariance, variance] = [0n, 0n]
  for (const { product } of pairs) {
    covariance += BigInt(product)
    variance += BigInt(product) ** 2n
  }
  return covariance ** 2n < DEVIATIONS ** 2n * variance
}
