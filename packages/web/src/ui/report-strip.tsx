import { openReport } from '../app/open-report.ts'
import { printPlace } from '../model/place.ts'
import './report.css'

/** Above a market that the open report traded: the fills before and after this time, and the way back. */
export function ReportStrip(props: { readonly market: string; readonly time: number | undefined }) {
  const report = openReport.value
  const own = report?.markets.find(({ market }) => market === props.market)
  if (report === undefined || own === undefined) return null
  const { venue, marketId, fills } = own
  const { time = Infinity } = props
  const here = fills.findLast(({ at }) => at <= time)
  const before = fills.findLast(({ at }) => at < (here?.at === time ? time : (here?.at ?? 0)))
  const after = fills.find(({ at }) => at > time)
  const link = (at: number): string => printPlace({ page: 'market', venue, marketId, time: at })
  return (
    <div class="report-strip" role="region" aria-label="Backtest">
      <span>
        Backtest <strong>{report.run.strategy}</strong>
        {here !== undefined && here.at === time && (
          <>
            : fill {here.id}, {here.side} {here.size} at {here.price / 10_000}
          </>
        )}
      </span>
      <span class="report-strip-links">
        {before !== undefined && <a href={link(before.at)}>← Earlier fill</a>}
        {after !== undefined && <a href={link(after.at)}>Later fill →</a>}
        <a href={printPlace({ page: 'backtest', market: own.market, fill: here?.id })}>
          Back to the backtest
        </a>
      </span>
    </div>
  )
}
