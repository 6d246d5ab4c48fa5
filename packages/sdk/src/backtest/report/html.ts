import { EVIDENCE_CLASSES, REJECT_REASONS, type RejectReason } from '../order.ts'
import { plotsOf } from './plots.ts'
import type { Report } from './report-shape.ts'
import { STYLE } from './style.ts'
import { escapeHtml } from './svg.ts'

/** The report as one self-contained page: no script, no font, no network. */
export function reportHtml(report: Report): string {
  const { run, headline } = report
  const plots = plotsOf(report).map(
    ({ title, about, svg }) =>
      `<figure><figcaption><h2>${escapeHtml(title)}</h2><p>${escapeHtml(about)}</p></figcaption>${svg}</figure>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(run.strategy)}: ${escapeHtml(headline.pnl)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<p class="brand">Priorbook backtest</p>
<h1>${escapeHtml(run.strategy)}</h1>
<p class="range">${escapeHtml(run.from.slice(0, 19))} to ${escapeHtml(run.to.slice(0, 19))} UTC · ${paramsText(run.params)}seed ${run.seed} · ${escapeHtml(run.queue)} queue · gaps: ${escapeHtml(run.gap_policy)}</p>
</header>
<main>
${noticesHtml(report)}
${tilesHtml(report)}
<section class="plots">
${plots.join('\n')}
</section>
${tablesHtml(report)}
<footer>${report.disclaimer.map((text) => `<p>${escapeHtml(text)}</p>`).join('')}</footer>
</main>
</body>
</html>
`
}

function paramsText(params: Report['run']['params']): string {
  const words = Object.entries(params).map(([name, value]) => `${name} ${String(value)}`)
  return words.length === 0 ? '' : `${escapeHtml(words.join(', '))} · `
}

function noticesHtml({ notices, status }: Report): string {
  if (notices.length === 0) return ''
  const items = notices.map((text) => `<li>${escapeHtml(text)}</li>`).join('')
  return `<ul class="notices ${status}">${items}</ul>`
}

function tilesHtml({
  headline,
  bracket,
  confidence,
  orders,
  fills,
  coverage,
  calibration,
}: Report): string {
  const percent = (value: number | null): string =>
    value === null ? '–' : `${(value * 100).toFixed(1)} %`
  const isOne = bracket === null || bracket.is_one_number
  const band =
    confidence.low === null
      ? 'too few events for a confidence band'
      : `95 %: ${confidence.low.toFixed(2)} to ${confidence.high!.toFixed(2)} over ${confidence.events} events`
  const tiles: (readonly [name: string, value: string, note: string, tone?: string])[] = [
    isOne
      ? ['Result', cents(headline.pnl), band, tone(headline.pnl)]
      : [
          'Result, a bracket',
          rangeText(bracket),
          `proportional ${cents(bracket.proportional)}; ${band}`,
          tone(bracket.pessimistic),
        ],
    [
      'Settled / open',
      `${cents(headline.pnl_settled)} / ${cents(headline.pnl_open)}`,
      'paid by venues / marked at the bid',
    ],
    ['Fees', cents(headline.fees), `rebates, not included: ${cents(headline.rebates_apart)}`],
    [
      'Return on peak capital',
      percent(headline.return_on_peak_capital),
      `peak ${cents(headline.peak_capital)}, mean ${cents(headline.mean_capital)}`,
    ],
    ['Largest drawdown', cents(headline.max_drawdown), `volume ${cents(headline.volume)}`],
    [
      'Fill rate',
      percent(orders.fill_rate_size),
      `${fills.count} fills: ${fills.taker} taker, ${fills.maker} maker`,
    ],
    [
      'Brier score',
      calibration.brier.strategy?.toFixed(4) ?? '–',
      calibration.brier.mid === null ? 'no forecasts' : `mid: ${calibration.brier.mid.toFixed(4)}`,
    ],
    [
      'Observed',
      percent(coverage.observed),
      `${coverage.observations.toLocaleString('en-US')} books, ${coverage.trades.toLocaleString('en-US')} trades`,
    ],
  ]
  const cells = tiles.map(
    ([name, value, note, colour = '']) =>
      `<div class="tile"><dt>${escapeHtml(name)}</dt><dd class="${colour}">${escapeHtml(value)}</dd><dd class="note">${escapeHtml(note)}</dd></div>`,
  )
  return `<dl class="tiles">${cells.join('')}</dl>`
}

function tablesHtml(report: Report): string {
  return [
    evidenceTable(report),
    factsTable(report),
    refusalsTable(report),
    venuesTable(report),
    baselinesTable(report),
    marketsTable(report),
  ].join('\n')
}

function evidenceTable({ evidence }: Report): string {
  const rows = EVIDENCE_CLASSES.map((name) => {
    const { fills, pnl, fees, meaning } = evidence[name]
    return [words(name), String(fills), pnl, fees, meaning]
  })
  return table('Evidence', ['class', 'fills', 'result', 'fees', 'meaning'], rows)
}

function factsTable({ orders, slippage, exposure, gaps }: Report): string {
  const lockUp = `${seconds(exposure.mean_lock_up_s)}, ${seconds(exposure.max_lock_up_s)}`
  const facts = [
    ['orders sent / arrived / refused', [orders.sent, orders.arrived, orders.rejected]],
    [
      'with fills / filled completely / cancelled / expired',
      [orders.with_fills, orders.filled_whole, orders.cancelled, orders.expired],
    ],
    ['slippage from the best price', [tenThousandths(slippage.from_touch)]],
    ['slippage from the mid', [tenThousandths(slippage.from_mid)]],
    ['markets traded / settled / open', [exposure.markets_traded, exposure.settled, exposure.open]],
    ['disputed / void without payout', [exposure.disputed, exposure.void_unpaid]],
    ['lock-up, mean and longest', [lockUp]],
    ['gaps, time in them', [`${gaps.count}, ${seconds(gaps.seconds)}`]],
    ['orders ended / refused by gaps', [gaps.orders_cancelled, gaps.orders_refused]],
    ['near gaps: fills, result', [`${gaps.near.fills}, ${gaps.near.pnl}`]],
    ['away from gaps: fills, result', [`${gaps.apart.fills}, ${gaps.apart.pnl}`]],
  ] as const
  return table(
    'Facts',
    ['what', 'value'],
    facts.map(([name, values]) => [name, values.join(' / ')]),
  )
}

function refusalsTable({ orders }: Report): string {
  const rows = Object.entries(orders.reasons).map(([reason, count]) => [
    words(reason),
    String(count),
    REJECT_REASONS[reason as RejectReason],
  ])
  return rows.length === 0 ? '' : table('Refusals', ['reason', 'orders', 'meaning'], rows)
}

const VENUE_COLUMNS = [
  'venue',
  'start',
  'bought',
  'sold',
  'fees',
  'share_fees',
  'merged',
  'split',
  'paid_out',
  'cash',
] as const

function venuesTable({ venues }: Report): string {
  const heads = VENUE_COLUMNS.map((name) =>
    name === 'share_fees' ? 'fees in shares' : words(name),
  )
  const rows = venues.map((venue) => VENUE_COLUMNS.map((name) => venue[name]))
  return table('Money by venue', heads, rows)
}

function baselinesTable({ baselines }: Report): string {
  const rows = baselines.map((each) => [
    words(each.name),
    String(each.markets),
    String(each.pnl),
    String(each.per_share ?? '–'),
    each.meaning,
  ])
  return table('Baselines', ['rule', 'markets', 'result', 'per share', 'meaning'], rows)
}

// Max markets listed; the JSON holds all of them.
const LISTED_MARKETS = 500

function marketsTable({ markets }: Report): string {
  const traded = markets.filter(({ fills }) => fills > 0).slice(0, LISTED_MARKETS)
  const rows = traded.map((each) => [
    each.market,
    each.status ?? '–',
    String(each.fills),
    each.pnl,
    each.fees,
    each.payouts?.join(' / ') ?? 'not paid',
    `${(each.coverage * 100).toFixed(1)} %`,
    each.fee_basis,
  ])
  return table(
    'Markets',
    ['market', 'status', 'fills', 'result', 'fees', 'payouts', 'coverage', 'fees by'],
    rows,
  )
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}

function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (tag: 'th' | 'td', cells: readonly string[]): string =>
    `<tr>${cells.map((text) => `<${tag}${isNumber(text) ? ' class="number"' : ''}>${escapeHtml(text)}</${tag}>`).join('')}</tr>`
  return `<section><h2>${escapeHtml(title)}</h2><div class="scroll"><table><thead>${line('th', head)}</thead><tbody>${rows.map((row) => line('td', row)).join('')}</tbody></table></div></section>`
}

function isNumber(text: string): boolean {
  return /^-?\d[\d.,]*( %)?$/.test(text)
}

// Two decimals; the exact amounts are in the tables and in the JSON.
function cents(text: string): string {
  return Number(text).toLocaleString('en-US', {
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  })
}

function rangeText(bracket: NonNullable<Report['bracket']>): string {
  const values = [bracket.pessimistic, bracket.proportional, bracket.optimistic].toSorted(
    (left, right) => Number(left) - Number(right),
  )
  return `${cents(values[0]!)} … ${cents(values[2]!)}`
}

function tone(text: string): string {
  return Number(text) < 0 ? 'loss' : Number(text) > 0 ? 'gain' : ''
}

function seconds(value: number | null): string {
  return value === null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} s`
}

function tenThousandths(value: number | null): string {
  return value === null ? '–' : `${(value / 100).toFixed(3)} cents per share`
}
