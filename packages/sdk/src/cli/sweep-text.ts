import { summarizeWalk, type Report, type SweepSummary, type WalkStep } from '../backtest/index.ts'
import { layTable } from '../command-line/index.ts'
import { printMicros, type Micros } from '../domain/index.ts'

const right = true

/** The runs of a sweep, the best result first. */
export function printCells(reports: readonly Report[]): string {
  const rows = reports
    .toSorted((left, other) => Number(other.headline.pnl) - Number(left.headline.pnl))
    .map(({ run, headline, fills }) => [
      printParams(run.params),
      headline.pnl,
      headline.fees,
      String(fills.count),
    ])
  const columns = [
    { head: 'params' },
    { head: 'result', right },
    { head: 'fees', right },
    { head: 'fills', right },
  ]
  return `${layTable(columns, rows).join('\n')}\n`
}

/** What the best run of a sweep is worth: among its neighbours, and beside the number of tries. */
export function printSweep({ tries, best, neighbours, deflated }: SweepSummary): string {
  const around = neighbours.map(({ pnl }) => Number(pnl))
  const mean = around.reduce((sum, pnl) => sum + pnl, 0) / Math.max(1, around.length)
  const rows = [
    ['tries', `${tries}: the best of many is also the luckiest`],
    ['best', `${printParams(best.params, ', ')}: ${best.pnl}`],
    [
      'its neighbours',
      around.length === 0
        ? 'none'
        : `${around.length}: ${mean.toFixed(4)} on average, ${Math.min(...around).toFixed(4)} at worst`,
    ],
    [
      'Sharpe ratio by event',
      deflated === null
        ? 'too few events'
        : `${best.sharpe!.ratio.toFixed(3)} over ${best.sharpe!.observations} events`,
    ],
    ...(deflated === null
      ? []
      : [
          [
            'deflated',
            `${percent(deflated.probability)} that it is above ${deflated.expected_best.toFixed(3)}, the best of ${tries} tries without skill`,
          ],
        ]),
  ]
  return `${rows.map(([name, value]) => `${name!.padEnd(22)} ${value}`).join('\n')}\n`
}

/** The windows of a walk forward, and what their tests say together. */
export function printWalk(steps: readonly WalkStep[]): string {
  const summary = summarizeWalk(steps)
  const columns = [
    { head: 'test from' },
    { head: 'to' },
    { head: 'chosen' },
    { head: 'training', right },
    { head: 'test', right },
    { head: 'fills', right },
  ]
  const rows = summary.steps.map(({ window, params, train_pnl, test_pnl, test_fills }) => [
    minute(window.split),
    minute(window.to),
    printParams(params),
    train_pnl,
    test_pnl,
    String(test_fills),
  ])
  const total = summary.steps.reduce((sum, { test_pnl }) => sum + Number(test_pnl), 0)
  const gains = summary.steps.filter(({ test_pnl }) => Number(test_pnl) > 0).length
  const { sharpe, probability } = summary
  const lines = [
    ...layTable(columns, rows),
    `${steps.length} tests: ${Number(total.toFixed(8))} in all, ${gains} with a gain; each chosen from ${summary.tries_per_window} tries on the span before it`,
    sharpe === null || probability === null
      ? 'too few events for a Sharpe ratio'
      : `Sharpe ratio by event ${sharpe.ratio.toFixed(3)} over ${sharpe.observations} events: ${percent(probability)} that it is above 0`,
  ]
  return `${lines.join('\n')}\n`
}

/** Parameters as they are written on the command line. */
export function printParams(params: Readonly<Record<string, unknown>>, between = ' '): string {
  return Object.entries(params)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(between)
}

function minute(at: number): string {
  return printMicros(at as Micros)
    .slice(0, 16)
    .replace('T', ' ')
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
