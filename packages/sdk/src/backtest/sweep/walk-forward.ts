import { PriorbookError } from '../../domain/index.ts'
import type { Report } from '../report/index.ts'
import { trainHoldout, type EventSource, type RunOptions } from '../run.ts'
import type { Params } from '../strategy.ts'
import { sharpeOf, deflateSharpe, type DeflatedSharpe, type Sharpe } from './deflated-sharpe.ts'
import { resultsByEvent } from './sweep-summary.ts'

/** A window: parameters are chosen on [from, split) and tested on [split, to). */
export type WalkWindow = { readonly from: number; readonly split: number; readonly to: number }

/** The result of one window. */
export type WalkStep = {
  readonly window: WalkWindow
  readonly params: Params
  /** Sets of parameters that were tried on the first part. */
  readonly tries: number
  readonly train_pnl: string
  /** The report of the chosen parameters on the second part; fresh account, fresh strategy. */
  readonly test: Report
}

/** A walk forward as a whole: only what was tested counts. */
export type WalkSummary = {
  readonly format: 'priorbook-walk/1'
  readonly tries_per_window: number
  readonly steps: readonly (Omit<WalkStep, 'test' | 'tries'> & {
    readonly test_pnl: string
    readonly test_fills: number
  })[]
  /** Of the events of all tests; nothing was chosen by them, so it is one try. */
  readonly sharpe: Sharpe | null
  readonly probability: DeflatedSharpe['probability'] | null
}

/**
 * The windows of a walk forward over [from, to): each test begins where the one before it ends, and each
 * training ends where its test begins. A rest that is shorter than a test is left out.
 */
export function walkWindows(from: number, to: number, train: number, test: number): WalkWindow[] {
  if (!(train > 0 && test > 0 && from + train + test <= to)) {
    const detail = 'the range is shorter than one training and one test'
    throw new PriorbookError('invalid_argument', detail)
  }
  const windows: WalkWindow[] = []
  for (let start = from; start + train + test <= to; start += test) {
    windows.push({ from: start, split: start + train, to: start + train + test })
  }
  return windows
}

/** Chooses parameters on the first part of each window and tests them on the second. */
export async function walkForward(
  options: Omit<RunOptions, 'events' | 'from' | 'to'> & {
    readonly params: readonly Params[]
    readonly windows: readonly WalkWindow[]
    readonly open: (from: number, to: number) => EventSource
    readonly score?: (report: Report) => number
  },
): Promise<WalkStep[]> {
  const steps: WalkStep[] = []
  for (const window of options.windows) {
    const { train, best, holdout } = await trainHoldout({ ...options, ...window })
    steps.push({
      window,
      params: best.params,
      tries: train.length,
      train_pnl: best.report.headline.pnl,
      test: holdout.report,
    })
  }
  return steps
}

/** Sums up the windows of a walk forward. */
export function summarizeWalk(steps: readonly WalkStep[]): WalkSummary {
  // An event may last longer than a window: its results belong together.
  const byEvent = new Map<string, number>()
  for (const { test } of steps) {
    for (const [event, pnl] of resultsByEvent(test)) {
      byEvent.set(event, (byEvent.get(event) ?? 0) + pnl)
    }
  }
  const sharpe = sharpeOf([...byEvent.values()]) ?? null
  return {
    format: 'priorbook-walk/1',
    tries_per_window: steps[0]?.tries ?? 0,
    steps: steps.map(({ window, params, train_pnl, test }) => ({
      window,
      params,
      train_pnl,
      test_pnl: test.headline.pnl,
      test_fills: test.fills.count,
    })),
    sharpe,
    probability: sharpe === null ? null : deflateSharpe(sharpe, [], 1).probability,
  }
}
