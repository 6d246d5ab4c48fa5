import { GAP_REASONS, VENUE_IDS, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import type { DatasetCoverageJson } from '@priorbook/sdk/wire'
import { useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { go } from '../app/router.ts'
import { useLoad } from '../app/use-load.ts'
import {
  bookCells,
  calendarRange,
  derivedCells,
  toWeeks,
  type CalendarCell,
} from '../model/calendar.ts'
import { printCount } from '../model/decimal.ts'
import { gapSentence, toSpan } from '../model/gap.ts'
import { printPlace } from '../model/place.ts'
import { DAY, microsOrAbsent, printDate, printSeconds, printSpan } from '../model/time.ts'
import { PanelBox } from '../ui/panel.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import { VENUE_NAMES, VenueTag } from '../ui/words.tsx'

const DAYS = 84
const SHOWN_GAPS = 200

/** What is there and what is missing, day by day. */
export function CoveragePage(props: {
  readonly venue: VenueId | undefined
  readonly day: string | undefined
}) {
  return (
    <main id="main" class="page coverage-page">
      <div class="page-head">
        <h1>Coverage</h1>
        <p class="quiet">
          Twelve weeks of UTC days, per venue and dataset. A day is as full as the share of its time
          that was observed; hatched is missing. Choose a day to see its gaps.
        </p>
      </div>
      <p class="legend coverage-legend">
        <i class="c-available" /> observed without a hole <i class="c-degraded" /> observed with
        holes <i class="c-missing" /> nothing observed <i class="c-before" /> before capture
      </p>
      {VENUE_IDS.map((venue) => (
        <VenueCalendar
          key={`${venue} ${key.value}`}
          venue={venue}
          day={props.venue === venue ? props.day : undefined}
        />
      ))}
    </main>
  )
}

function VenueCalendar(props: { readonly venue: VenueId; readonly day: string | undefined }) {
  const { venue, day } = props
  const panel = useMemo(createPanel, [])
  const load = useLoad(
    async (signal) => {
      const { from, to } = calendarRange(Date.now() * 1000, DAYS)
      panel.note('coverage', { venue })
      const datasets = await panel.client.coverage({ venue }, { signal })
      const params = { venue, start_time: from, end_time: to }
      panel.note('coverageDays', params)
      const days = await panel.client.coverageDays(params, { signal })
      return {
        datasets: datasets.data.filter((one) => one.kind === 'dataset'),
        days: days.data,
        notices: days.notices,
      }
    },
    [venue],
    60_000,
  )
  const { data, trouble } = load
  const started = microsOrAbsent(data?.datasets[0]?.capture_started_time)
  const firsts = (data?.datasets ?? []).flatMap((one) => microsOrAbsent(one.first_time) ?? [])
  const start = Math.min(started ?? Infinity, ...firsts)
  const books = bookCells(data?.days ?? [], start === Infinity ? undefined : start)
  const pick = (picked: string): void =>
    go({ page: 'coverage', venue, day: picked === day ? undefined : picked }, 'replace')
  const plan = data?.notices.find(({ code }) => code === 'plan_window')
  return (
    <PanelBox title={VENUE_NAMES[venue]} calls={panel.calls} class="venue-calendar">
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {data === undefined && trouble === undefined && <p class="quiet">Counting days…</p>}
      {plan !== undefined && <p class="remark">{plan.message}</p>}
      {data !== undefined && (
        <div class="datasets">
          {data.datasets.map((dataset) => (
            <DatasetRow
              key={nameOf(dataset)}
              dataset={dataset}
              cells={
                dataset.dataset === 'books' && dataset.windows === null
                  ? books
                  : derivedCells(books, dataset.first_day)
              }
              day={day}
              onPick={pick}
            />
          ))}
        </div>
      )}
      {day !== undefined && (
        <DayGaps key={day} venue={venue} day={day} cell={books.find((one) => one.day === day)} />
      )}
    </PanelBox>
  )
}

function nameOf({ dataset, assets, windows }: DatasetCoverageJson): string {
  return [dataset, assets?.join(' '), windows?.join(' ')].filter(Boolean).join(' · ')
}

function DatasetRow(props: {
  readonly dataset: DatasetCoverageJson
  readonly cells: readonly CalendarCell[]
  readonly day: string | undefined
  readonly onPick: (day: string) => void
}) {
  const { dataset, cells, day, onPick } = props
  const weeks = toWeeks(cells)
  const floor = microsOrAbsent(dataset.floor_time)
  const first = microsOrAbsent(dataset.first_time)
  return (
    <div class="dataset">
      <div class="dataset-name">
        <h3>{dataset.dataset}</h3>
        <p class="quiet">
          {dataset.assets?.join(', ') ?? 'everything'}
          {dataset.windows === null ? '' : ` · ${dataset.windows.join(', ')}`}
          <br />
          {first === undefined ? 'nothing yet' : `since ${printSeconds(first)}`}
          {floor !== undefined && (
            <>
              <br />
              not before {printDate(floor)}
              {dataset.year_inferred ? ' (year inferred)' : ''}
            </>
          )}
        </p>
      </div>
      <div class="calendar" role="group" aria-label={`${nameOf(dataset)}, by day`}>
        {weeks.map((week, index) => (
          <div class="week" key={index}>
            <span class="month" aria-hidden="true">
              {monthOf(weeks, index)}
            </span>
            {week.map((cell, place) =>
              cell === undefined ? (
                <span key={place} class="day none" />
              ) : (
                <button
                  key={place}
                  type="button"
                  class={`day c-${cell.state}`}
                  aria-pressed={cell.day === day}
                  aria-label={labelOf(cell)}
                  title={labelOf(cell)}
                  onClick={() => onPick(cell.day)}
                >
                  {cell.state === 'degraded' && (
                    <i style={{ height: `${Math.max(8, cell.share * 100)}%` }} />
                  )}
                </button>
              ),
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

// The name of a month above the week in which it begins.
function monthOf(weeks: ReturnType<typeof toWeeks>, index: number): string {
  const beginning = (week = weeks[index]): CalendarCell | undefined =>
    week?.find((cell) => cell?.day.endsWith('-01') === true)
  const isAlone = index === 0 && beginning(weeks[1] ?? []) === undefined
  const shown = beginning() ?? (isAlone ? weeks[0]!.find((cell) => cell !== undefined) : undefined)
  if (shown === undefined) return ''
  const day = new Date(`${shown.day}T00:00:00Z`)
  return day.toLocaleString('en', { month: 'short', timeZone: 'UTC' })
}

function labelOf({ day, state, share, row }: CalendarCell): string {
  switch (state) {
    case 'before':
      return `${day}: before capture`
    case 'missing':
      return `${day}: nothing observed`
    case 'available':
    case 'degraded':
      return `${day}: ${printCount(row?.observations ?? 0)} books of ${printCount(row?.markets ?? 0)} markets, ${
        state === 'available' ? 'no hole' : `${(share * 100).toFixed(1)} % of the time`
      }`
  }
}

function DayGaps(props: {
  readonly venue: VenueId
  readonly day: string
  readonly cell: CalendarCell | undefined
}) {
  const { venue, day, cell } = props
  const panel = useMemo(createPanel, [])
  const start = Date.parse(`${day}T00:00:00Z`) * 1000
  const reasons = cell?.row?.reasons ?? []
  const load = useLoad(
    async (signal) => {
      const gaps = []
      // By reason: most gaps of a day are rounds that had not begun or were over.
      for (const { reason } of reasons) {
        const params = {
          venue,
          reason: reason as GapReason,
          start_time: start,
          end_time: Math.min(start + DAY, Date.now() * 1000),
          limit: SHOWN_GAPS,
        }
        panel.note('gaps', params)
        gaps.push(...(await panel.client.gaps(params, { signal }).page()).data)
      }
      return gaps.map((gap) => ({ ...toSpan(gap), key: gap.key })).sort((a, b) => a.start - b.start)
    },
    [day, reasons.length],
  )
  return (
    <section class="day-gaps" aria-label={`Gaps of ${day}`}>
      <h3>
        <VenueTag venue={venue} /> {day}
        {cell?.row !== undefined && (
          <span class="quiet">
            {' '}
            {printCount(cell.row.observations)} books · {printCount(cell.row.markets)} markets
          </span>
        )}
      </h3>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map(({ reason, gaps, gap_ms: ms }) => (
            <li key={reason}>
              <span class="hatch-key" aria-hidden="true" />{' '}
              <strong>{reason.replaceAll('_', ' ')}</strong> {printCount(gaps)} ×,{' '}
              {printSpan(Number(ms) * 1000)} in all.{' '}
              <span class="quiet">{gapSentence(reason)}</span>
            </li>
          ))}
        </ul>
      )}
      {reasons.length === 0 && (
        <p>
          {cell === undefined || cell.state === 'missing'
            ? 'Nothing was observed on this day, and nothing is made up for it.'
            : cell.state === 'before'
              ? GAP_REASONS.before_capture
              : 'No hole: every market that traded was observed.'}
        </p>
      )}
      {load.trouble !== undefined && <TroubleNote trouble={load.trouble} />}
      {load.data !== undefined && load.data.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="group" aria-label={`List of gaps of ${day}`}>
          <table class="gap-table">
            <thead>
              <tr>
                <th scope="col">Reason</th>
                <th scope="col">What</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col" class="num">
                  Length
                </th>
              </tr>
            </thead>
            <tbody>
              {load.data.slice(0, SHOWN_GAPS).map((gap, index) => (
                <tr key={index}>
                  <td>
                    <span class="hatch-key" aria-hidden="true" /> {gap.reason.replaceAll('_', ' ')}
                  </td>
                  <td class="gap-key">
                    {gap.scope === 'venue' || gap.key === null ? (
                      'whole venue'
                    ) : venue === 'venuec' && gap.scope === 'instrument' ? (
                      <code title={gap.key}>{`${gap.key.slice(0, 14)}…`}</code>
                    ) : (
                      <a
                        href={printPlace({
                          page: 'market',
                          venue,
                          marketId: gap.key,
                          time: gap.start,
                        })}
                      >
                        {gap.key}
                      </a>
                    )}
                  </td>
                  <td>{printSeconds(gap.start).slice(5)}</td>
                  <td>{gap.end === undefined ? 'open' : printSeconds(gap.end).slice(5)}</td>
                  <td class="num">
                    {gap.end === undefined ? 'open' : printSpan(gap.end - gap.start)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
