import type { Report } from '../backtest/index.ts'
import { printCount, printSpan } from '../command-line/index.ts'
import { isVenueId, VENUES } from '../domain/index.ts'

/** The result of a backtest for a terminal: amounts with their currency, shares as percent, models by name. */
export function summarize(report: Report, hash: string): string {
  const { headline, orders, fills, gaps, coverage } = report
  const currency = currencyOf(report)
  const amount = (text: string): string => `${text} ${currency}`
  const share = percent(headline.return_on_peak_capital)
  const rows: readonly (readonly [name: string, value: string])[] = [
    ['result', resultOf(report, currency)],
    ...modelRows(report, currency),
    ['', bandOf(report, currency)],
    ['settled / open', `${headline.pnl_settled} / ${amount(headline.pnl_open)}`],
    ['fees', amount(headline.fees)],
    ['peak capital', `${amount(headline.peak_capital)} (return ${share})`],
    ['largest drawdown', amount(headline.max_drawdown)],
    [
      'orders',
      `${orders.sent} sent, ${orders.rejected} refused${reasonsOf(report)}, ${orders.with_fills} with fills`,
    ],
    ['fills', `${fills.count}: ${fills.taker} took, ${fills.maker} rested`],
    ['near gaps', `${gaps.near.fills} fills, ${amount(gaps.near.pnl)}`],
    [
      'observed',
      `${percent(coverage.observed)}, ${printCount(coverage.observations)} books, ${printCount(coverage.trades)} trades`,
    ],
    ['models', modelsOf(report)],
    ['report', `sha256 ${hash}`],
  ]
  const lines = rows.map(([name, value]) => `${name.padEnd(22)} ${value}`)
  const notices = report.notices.map((text) => `! ${text}`)
  return `${[...notices, ...lines, ...report.disclaimer].join('\n')}\n`
}

// Where orders that rest may have filled or not, each queue model has a result of its own. A model that fills
// more orders need not earn more, so the models are not named as ends of a range.
function resultOf({ headline, bracket }: Report, currency: string): string {
  if (bracket === null || bracket.is_one_number) return `${headline.pnl} ${currency}`
  const { smallest, largest } = bracket
  return `${smallest} … ${largest} ${currency}, smallest to largest of three queue models`
}

function modelRows({ bracket }: Report, currency: string): [string, string][] {
  if (bracket === null || bracket.is_one_number) return []
  const { pessimistic, proportional, optimistic } = bracket
  const each = `pessimistic ${pessimistic}, proportional ${proportional}, optimistic ${optimistic}`
  return [['', `${each} ${currency}: guesses about the queue, not bounds`]]
}

function reasonsOf({ orders }: Report): string {
  if (orders.rejected === 0) return ''
  const reasons = Object.entries(orders.reasons).map(([reason, count]) => `${reason} ${count}`)
  return ` (${reasons.join(', ')})`
}

function bandOf({ confidence }: Report, currency: string): string {
  const { events, low, high, is_small: isSmall } = confidence
  if (low === null || isSmall) return `too few events (${events}) for a band`
  return `95 % of ${events} events resampled: ${low} to ${high} ${currency}`
}

function modelsOf({ run, bracket }: Report): string {
  const queue = bracket === null ? run.queue : 'pessimistic, proportional and optimistic'
  const parts = [`queue ${queue}`, ...delaysOf(run.latency), `gaps: ${run.gap_policy}`]
  if (run.limits !== undefined) parts.push(`limits: ${limitsOf(run.limits)}`)
  return parts.join('; ')
}

// Delays of zero are left out, except that of orders.
function delaysOf(latency: unknown): string[] {
  const { entry, feed = 0, acknowledge = 0 } = latency as Readonly<Record<string, unknown>>
  const parts = [`orders arrive after ${delayText(entry)}`]
  if (feed !== 0) parts.push(`events are seen after ${delayText(feed)}`)
  if (acknowledge !== 0) parts.push(`answers after ${delayText(acknowledge)}`)
  return parts
}

function delayText(delay: unknown): string {
  if (typeof delay !== 'number') return 'a time as given'
  return delay < 1e6 ? `${delay / 1000} ms` : printSpan(delay / 1000)
}

function limitsOf(limits: unknown): string {
  const words = Object.entries(limits as Readonly<Record<string, string | number>>)
  return words.map(([name, value]) => `${name} ${value}`).join(', ')
}

function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`
}

// What the venues of the run pay in. Several currencies are added up one to one.
function currencyOf({ markets }: Report): string {
  const venues = new Set(markets.map(({ market }) => market.slice(0, market.indexOf(':'))))
  const names = [...venues].filter(isVenueId).map((venue) => VENUES[venue].units.collateral)
  return [...new Set(names)].join(' + ') || 'of collateral'
}
