import { useState } from 'preact/hooks'
import { openReport } from '../app/open-report.ts'
import { go } from '../app/router.ts'
import { printCount } from '../model/decimal.ts'
import {
  MAX_REPORT_BYTES,
  readReport,
  tooLarge,
  type ReportMarket,
  type ReportTrouble,
  type ReportView,
} from '../model/report-view.ts'
import { FillTable } from '../ui/fill-table.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { ReportCharts } from '../ui/report-charts.tsx'
import { EmptyNote } from '../ui/trouble-note.tsx'
import { Facts, VenueTag } from '../ui/words.tsx'

/** A report of `priorbook backtest`, read in the browser: markets, fills, position and queue over time. */
export function BacktestPage(props: {
  readonly market: string | undefined
  readonly fill: number | undefined
}) {
  const view = openReport.value
  return (
    <main id="main" class="page backtest-page">
      <div class="page-head">
        <h1>Backtest</h1>
      </div>
      <ReportPicker />
      {view !== undefined && <Opened view={view} {...props} />}
    </main>
  )
}

function ReportPicker() {
  const view = openReport.value
  const [trouble, setTrouble] = useState<ReportTrouble | undefined>(undefined)
  const [isReading, setReading] = useState(false)
  const [isOver, setOver] = useState(false)
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    setReading(true)
    setTrouble(undefined)
    const read = await readFile(file)
    setReading(false)
    if ('trouble' in read) setTrouble(read.trouble)
    else {
      openReport.value = read.view
      go({ page: 'backtest', market: undefined, fill: undefined }, 'replace')
    }
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    void open(event.dataTransfer?.files[0])
  }
  return (
    <PanelBox title={view === undefined ? 'Open a report' : 'Open another report'}>
      <div
        class={`drop${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <label>
          <span>
            Drop <code>report.json</code> here, or choose it
          </span>
          <input
            type="file"
            accept=".json,application/json"
            onChange={(event) => {
              const { currentTarget } = event
              void open(currentTarget.files?.[0]).then(() => (currentTarget.value = ''))
            }}
          />
        </label>
        <p class="quiet">
          <code>priorbook backtest strategy.ts … --out report</code> writes it. The file is read in
          this tab: nothing is uploaded, and it is forgotten when you close or reload the tab.
        </p>
        {isReading && <p role="status">Reading…</p>}
      </div>
      {trouble !== undefined && (
        <div class="note trouble" role="alert" data-code={trouble.code}>
          <strong>{trouble.text}</strong>
          <p>{trouble.hint}</p>
        </div>
      )}
    </PanelBox>
  )
}

async function readFile(file: File): Promise<ReturnType<typeof readReport>> {
  if (file.size > MAX_REPORT_BYTES) return { trouble: tooLarge(file.size) }
  try {
    const text = await file.text()
    return readReport(file.name, text)
  } catch {
    const text = 'The browser could not read the file.'
    const hint = 'It may have been moved or changed. Choose it again.'
    return { trouble: { code: 'unreadable', text, hint } }
  }
}

function Opened(props: {
  readonly view: ReportView
  readonly market: string | undefined
  readonly fill: number | undefined
}) {
  const { view } = props
  const shown = view.markets.find(({ market }) => market === props.market) ?? view.markets[0]
  return (
    <>
      <PanelBox title={view.run.strategy} class="report-facts">
        {view.notices.length > 0 && (
          <ul class="report-notices">
            {view.notices.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
        <Facts class="facts wide-facts" facts={factsOf(view)} />
      </PanelBox>
      {shown === undefined ? (
        <EmptyNote title="Nothing was filled" text="The report has no market with a fill." />
      ) : (
        <>
          {view.markets.length > 1 && <MarketPicker view={view} shown={shown} />}
          <MarketPanels key={shown.market} market={shown} fill={props.fill} />
        </>
      )}
    </>
  )
}

function factsOf({ name, run, headline, performance, fillCount }: ReportView) {
  const percent = (value: number | null): string =>
    value === null ? '–' : `${(value * 100).toFixed(1)} %`
  const { sharpe, round_trips: trips } = performance
  const facts: (readonly [string, string])[] = [
    ['File', name],
    ['Range, UTC', `${run.from.slice(0, 19)} to ${run.to.slice(0, 19)}`.replaceAll('T', ' ')],
    ['Result', headline.pnl],
    ['Fees', headline.fees],
    ['Largest drawdown', headline.max_drawdown],
    ['Return on peak capital', percent(headline.return_on_peak_capital)],
    [
      'Sharpe, a year',
      sharpe.annual === null
        ? '– (too few days)'
        : `${sharpe.annual.toFixed(2)} ± ${sharpe.annual_error!.toFixed(2)}`,
    ],
    [
      'Win rate',
      `${percent(trips.win_rate)} of ${printCount(trips.count)} ${trips.count === 1 ? 'round trip' : 'round trips'}`,
    ],
    ['Fills', printCount(fillCount)],
    ['Queue model', run.queue],
  ]
  return facts
}

function MarketPicker(props: { readonly view: ReportView; readonly shown: ReportMarket }) {
  const { view, shown } = props
  return (
    <p class="report-market">
      <label>
        <span>Market</span>
        <select
          value={shown.market}
          onChange={(event) =>
            go({ page: 'backtest', market: event.currentTarget.value, fill: undefined })
          }
        >
          {view.markets.map(({ market, title, pnl, fills }) => (
            <option key={market} value={market}>
              {`${pnl} · ${title ?? ''} ${market} · ${fills.length} fills`}
            </option>
          ))}
        </select>
      </label>
    </p>
  )
}

function MarketPanels(props: { readonly market: ReportMarket; readonly fill: number | undefined }) {
  const { market } = props
  const selected = market.fills.find(({ id }) => id === props.fill)
  const onPick = ({ id }: { readonly id: number }): void =>
    go({ page: 'backtest', market: market.market, fill: id }, 'replace')
  return (
    <>
      <PanelBox title="Price and fills" tools={<Legend />}>
        <div class="featured-title">
          <VenueTag venue={market.venue} />
          <span>{market.title ?? market.marketId}</span>
          <span class="quiet">
            result {market.pnl}, fees {market.fees}
          </span>
        </div>
        <ReportCharts market={market} selected={selected} onPick={onPick} />
      </PanelBox>
      <PanelBox title="Fills">
        <FillTable market={market} selected={selected} onPick={onPick} />
      </PanelBox>
    </>
  )
}

function Legend() {
  return (
    <span class="legend">
      <i class="k-bid" /> bid <i class="k-ask" /> ask <i class="hatch-key" /> gap · ▲ bought ▼ sold,
      of the first outcome; open: as maker
    </span>
  )
}
