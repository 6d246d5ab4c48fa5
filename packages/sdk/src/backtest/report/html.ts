import { EVIDENCE_CLASSES, REJECT_REASONS, type RejectReason } from '../order.ts'
import { plotsOf } from './plots.ts'
import type { Report } from './report-shape.ts'
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

/** The look of a report page: light and dark, no fonts from anywhere. */
const STYLE = `
:root { --ground: #f7f7f5; --card: #ffffff; --ink: #1c1e21; --soft: #6a6f76; --rule: #e3e3df; --first: #2f5fd0; --second: #b4690e; --gain: #1b7f4d; --loss: #c0392b; --gap: #b9b4a7; }
@media (prefers-color-scheme: dark) { :root { --ground: #131416; --card: #1c1e21; --ink: #eceae6; --soft: #9a9fa6; --rule: #2e3136; --first: #7ea2ff; --second: #e0a458; --gain: #52c08a; --loss: #ff7b6b; --gap: #55524a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main { max-width: 1180px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 32px; }
.brand { margin: 0; color: var(--soft); font-size: 12px; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: 4px 0 4px; font-size: 28px; line-height: 1.2; }
h2 { margin: 0; font-size: 15px; }
.range { margin: 0 0 20px; color: var(--soft); }
.notices { margin: 0 0 20px; padding: 12px 16px 12px 34px; border-left: 4px solid var(--second); border-radius: 6px; background: var(--card); }
.notices.failed { border-color: var(--loss); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 14px; margin: 0 0 20px; }
.tile { padding: 14px 16px; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile dd.note { color: var(--soft); font-size: 13px; font-weight: 400; }
.gain { color: var(--gain); } .loss { color: var(--loss); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 14px; margin-bottom: 20px; }
figure, main > section { margin: 0; padding: 16px; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
main > section { margin-bottom: 14px; } main > section.plots { padding: 0; border: 0; background: none; }
figcaption p { margin: 2px 0 8px; color: var(--soft); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--rule); } .tick { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .line.first { stroke: var(--first); } .line.second { stroke: var(--second); stroke-width: 1.2; stroke-dasharray: 4 3; } .line.rule { stroke: var(--soft); stroke-dasharray: 3 4; stroke-width: 1; }
.area.loss { fill: var(--loss); fill-opacity: .25; stroke: var(--loss); }
.solid.gain { fill: var(--gain); } .solid.loss { fill: var(--loss); } .solid.first { fill: var(--first); } .solid.second { fill: var(--second); }
.gap { fill: var(--gap); fill-opacity: .35; }
.dot { fill: var(--first); } .dot.second { fill: var(--second); } .span { stroke: var(--first); stroke-width: 6; stroke-opacity: .3; stroke-linecap: round; }
path.buy { stroke: var(--gain); fill: var(--gain); } path.sell { stroke: var(--loss); fill: var(--loss); } path.maker { fill: none; stroke-width: 1.3; } path.taker { fill-opacity: .7; stroke: none; }
.none { fill: var(--soft); font-size: 14px; }
.scroll { overflow-x: auto; margin-top: 8px; }
table { width: 100%; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; } td.number { text-align: right; padding-right: 18px; white-space: nowrap; }
footer { padding: 8px 0 40px; color: var(--soft); font-size: 13px; }
`
