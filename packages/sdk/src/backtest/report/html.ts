import { EVIDENCE_CLASSES, REJECT_REASONS, type RejectReason } from '../order.ts'
import { QUEUE_MODELS } from '../queue.ts'
import { plotsOf } from './plots.ts'
import type { Report } from './report-shape.ts'
import { instantLink, marketPlots } from './market-plots.ts'
import { cents, table, toReportPage } from './page.ts'
import type { DayRatio } from './ratios.ts'
import { escapeHtml } from './svg.ts'

/** Where the page may link to. */
export type ReportPageOptions = {
  /** The address of an explorer: fills then link to the book of their instant. */
  readonly explorer?: string
}

/** The report as one self-contained page: no script, no font, no network. */
export function reportHtml(report: Report, options: ReportPageOptions = {}): string {
  const { run, headline } = report
  const plots = plotsOf(report).map(
    ({ title, about, svg }) =>
      `<figure><figcaption><h2>${escapeHtml(title)}</h2><p>${escapeHtml(about)}</p></figcaption>${svg}</figure>`,
  )
  const range = `${escapeHtml(run.from.slice(0, 19))} to ${escapeHtml(run.to.slice(0, 19))} UTC · ${paramsText(run.params)}seed ${run.seed} · ${escapeHtml(run.queue)} queue · gaps: ${escapeHtml(run.gap_policy)}`
  const body = `${noticesHtml(report)}
${tilesHtml(report)}
${marketsHtml(report, options.explorer)}
<section class="plots">
${plots.join('\n')}
</section>
${tablesHtml(report)}
<footer>${report.disclaimer.map((text) => `<p>${escapeHtml(text)}</p>`).join('')}</footer>`
  return toReportPage({
    title: `${run.strategy}: ${headline.pnl}`,
    heading: run.strategy,
    range,
    body,
  })
}

function marketsHtml(report: Report, explorer: string | undefined): string {
  const plots = marketPlots(report, explorer)
  if (plots.length === 0) return ''
  const figures = plots.map(({ market, title, about, svg, positionSvg }) => {
    const first = report.fills_kept.find((fill) => fill.market === market)!
    const link =
      explorer === undefined
        ? ''
        : ` <a href="${escapeHtml(instantLink(explorer, market, first.at))}">Open in the explorer</a>`
    return `<figure><figcaption><h3>${escapeHtml(title)}</h3><p>${escapeHtml(about)}${link}</p></figcaption>${svg}${positionSvg}</figure>`
  })
  const about =
    explorer === undefined
      ? 'Above: price with fills; below: the position, first outcome less second. Hatched: not recorded.'
      : 'Above: price with fills, each a link to the book of its instant in the explorer; below: the position, first outcome less second. Hatched: not recorded.'
  return `<section><h2>Markets over time</h2><p class="about">${about} The markets with the largest results are drawn, at most 30.</p><div class="markets-plots">${figures.join('')}</div></section>`
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

type Tile = readonly [name: string, value: string, note: string, tone?: string]

function tilesHtml({
  headline,
  bracket,
  confidence,
  orders,
  fills,
  coverage,
  calibration,
  performance,
}: Report): string {
  const isOne = bracket === null || bracket.is_one_number
  const band =
    confidence.low === null || confidence.is_small
      ? 'too few events for a confidence band'
      : `95 %: ${confidence.low.toFixed(2)} to ${confidence.high!.toFixed(2)} over ${confidence.events} events`
  const tiles: readonly Tile[] = [
    isOne
      ? ['Result', cents(headline.pnl), band, tone(headline.pnl)]
      : [
          'Result, smallest … largest',
          `${cents(bracket.smallest)} … ${cents(bracket.largest)}`,
          `of three queue models, which are guesses about the queue and not bounds: ${modelsText(bracket)}; ${band}`,
          rangeTone(bracket),
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
    ...performanceTiles(performance),
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

function performanceTiles(performance: Report['performance']): Tile[] {
  const { round_trips: trips, days } = performance
  return [
    ratioTile('Sharpe by day', performance.sharpe, days.length),
    ratioTile('Sortino by day', performance.sortino, days.length),
    [
      'Win rate',
      percent(trips.win_rate),
      `${trips.won} of ${trips.count} round trips, ${trips.open} open`,
    ],
    [
      'Turnover',
      performance.turnover === null ? '–' : `${performance.turnover.toFixed(1)} ×`,
      `of mean capital; ${percent(performance.maker_share)} of the volume as maker`,
    ],
    [
      'Time in the market',
      percent(performance.time_in_market),
      `${trips.mean_hold_s === null ? '–' : seconds(trips.mean_hold_s)} a round trip`,
    ],
  ]
}

function ratioTile(name: string, ratio: DayRatio, days: number): Tile {
  const { annual, annual_error: error, daily } = ratio
  if (annual === null)
    return [name, '–', `of ${days} day${days === 1 ? '' : 's'}: too few, or without a spread`]
  const few = days < FEW_DAYS ? '; few days: hardly a statement' : ''
  return [
    name,
    `${annual.toFixed(2)} ± ${error!.toFixed(2)}`,
    `a year, one standard error; ${daily!.toFixed(3)} a day over ${days} days${few}`,
  ]
}

// Below this many days the error itself is uncertain.
const FEW_DAYS = 20

function tablesHtml(report: Report): string {
  return [
    evidenceTable(report),
    factsTable(report),
    daysTable(report),
    assumptionsTable(report),
    inputsTable(report),
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

// Max days listed, the newest ones; the JSON holds all of them.
const LISTED_DAYS = 60

function daysTable({ performance }: Report): string {
  const rows = performance.days.slice(-LISTED_DAYS).map(({ day, pnl }) => [day, pnl])
  return rows.length < 2 ? '' : table('Result by day', ['day (UTC)', 'result'], rows)
}

function assumptionsTable({ run, markets }: Report): string {
  const bases = [...new Set(markets.map(({ fee_basis: basis }) => basis))].slice(0, 8)
  const rows = [
    ['latency, microseconds', JSON.stringify(run.latency)],
    ['limits of the account', run.limits === undefined ? 'none' : JSON.stringify(run.limits)],
    ['queue of resting orders', run.queue],
    ['resting orders where a gap begins', run.gap_policy],
    ['a trade and its change of the book are the same within', seconds(run.print_lag_us / 1e6)],
    ['near a gap', seconds(run.near_gap_us / 1e6)],
    ['cash at the start', JSON.stringify(run.cash)],
    ['assumed where no record says', JSON.stringify(run.assume)],
    ['fees by', bases.join('; ')],
  ]
  return table('Latency and assumptions', ['what', 'value'], rows)
}

function inputsTable({ inputs }: Report): string {
  if (inputs === undefined) return ''
  const { strategy, files, data = [], priorbook, rows_sha256: hash } = inputs
  const rows = [
    ['Priorbook', priorbook, ''],
    [`strategy ${strategy.name}`, `${strategy.bytes} bytes`, strategy.sha256],
    ...files.map(({ name, bytes, sha256 }) => [name, `${bytes} bytes`, sha256]),
    ...data.map(({ feed, name, bytes, sha256 }) => [
      `data ${feed}: ${name}`,
      `${bytes} bytes`,
      sha256,
    ]),
    ['rows that were read', 'keys, sequences, counts', hash],
  ]
  return table('Data and code', ['what', 'size', 'SHA-256'], rows)
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

function percent(value: number | null): string {
  return value === null ? '–' : `${(value * 100).toFixed(1)} %`
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}

function modelsText(bracket: NonNullable<Report['bracket']>): string {
  return QUEUE_MODELS.map((model) => `${model} ${cents(bracket[model])}`).join(', ')
}

// A range on both sides of zero is neither a gain nor a loss.
function rangeTone({ smallest, largest }: NonNullable<Report['bracket']>): string {
  return tone(smallest) === tone(largest) ? tone(smallest) : ''
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
