import { GAP_REASONS, VENUES, VENUE_IDS, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import type { DatasetCoverageJson } from '@priorbook/sdk/wire'
import { useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { go } from '../app/router.ts'
import { useLoad } from '../app/use-load.ts'
import { showSeconds } from '../app/show.ts'
import {
  bookCells,
  calendarRange,
  derivedCells,
  toWeeks,
  type CalendarCell,
} from '../model/calendar.ts'
import { printCount } from '../model/decimal.ts'
import { gapSentence, toSpan, type GapSpan } from '../model/gap.ts'
import { printPlace } from '../model/place.ts'
import { DAY, microsOrAbsent, printDate, printSpan } from '../model/time.ts'
import { ListTools } from '../ui/export-box.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import { VenueTag, venueTitle } from '../ui/words.tsx'
import { ScrollBox } from '../ui/scroll-box.tsx'
import { SortHead, useOrder } from '../ui/sort-head.tsx'

// Twelve weeks.
const DAYS = 84
// Max gaps listed per day.
const SHOWN_GAPS = 200

/** The recorded and missing time of every venue, day by day. */
export function CoveragePage(props: {
  readonly venue: VenueId | undefined
  readonly day: string | undefined
}) {
  return (
    <main id="main" class="page coverage-page">
      <div class="page-head">
        <h1>Coverage</h1>
        <p class="quiet">
          Twelve weeks of UTC days, per venue and dataset. The filled part of a day is the share of
          its time that was recorded, at least a third where anything was; hatched days are missing.
          Choose a day to see its gaps.
        </p>
      </div>
      <p class="legend coverage-legend">
        <i class="c-available" /> recorded without gaps <i class="c-degraded" /> recorded with gaps{' '}
        <i class="c-missing" /> nothing recorded <i class="c-none" /> books recorded, but not this
        dataset <i class="c-before" /> before capture
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
    <PanelBox title={venueTitle(venue)} calls={panel.calls} class="venue-calendar">
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {data === undefined && trouble === undefined && <p class="quiet">Loading…</p>}
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
  const floor = microsOrAbsent(dataset.venue_floor)
  const first = microsOrAbsent(dataset.first_time)
  return (
    <div class="dataset">
      <div class="dataset-name">
        <h3>{dataset.dataset}</h3>
        <p class="quiet">
          {dataset.assets?.join(', ') ?? 'all assets'}
          {dataset.windows === null ? '' : ` · ${dataset.windows.join(', ')}`}
          <br />
          {first === undefined ? 'nothing recorded yet' : `since ${showSeconds(first)}`}
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
                  aria-label={labelOf(cell, dataset.dataset)}
                  title={labelOf(cell, dataset.dataset)}
                  onClick={() => onPick(cell.day)}
                >
                  {cell.state === 'degraded' && <i style={{ height: `${fillOf(cell.share)}%` }} />}
                </button>
              ),
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

// A month's name stands above the week in which it begins.
function monthOf(weeks: ReturnType<typeof toWeeks>, index: number): string {
  const beginning = (week = weeks[index]): CalendarCell | undefined =>
    week?.find((cell) => cell?.day.endsWith('-01') === true)
  const isAlone = index === 0 && beginning(weeks[1] ?? []) === undefined
  const shown = beginning() ?? (isAlone ? weeks[0]!.find((cell) => cell !== undefined) : undefined)
  if (shown === undefined) return ''
  const day = new Date(`${shown.day}T00:00:00Z`)
  return day.toLocaleString('en', { month: 'short', timeZone: 'UTC' })
}

// A day of which anything was recorded must not look like one without.
const LEAST_FILL = 35

function fillOf(share: number): number {
  return LEAST_FILL + (100 - LEAST_FILL) * share
}

function labelOf({ day, state, share, row }: CalendarCell, dataset: string): string {
  switch (state) {
    case 'before':
      return `${day}: before capture`
    case 'none':
      return `${day}: no ${dataset} recorded`
    case 'missing':
      return `${day}: nothing recorded`
    case 'available':
    case 'degraded':
      return `${day}: ${printCount(row?.observations ?? 0)} books of ${printCount(row?.markets ?? 0)} markets, ${
        state === 'available' ? 'no gaps' : `${(share * 100).toFixed(1)} % of the time`
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
      // One request per reason: most gaps of a day are markets that had not opened or were closed.
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
  const hasGaps = load.data !== undefined && load.data.length > 0
  return (
    <section class="day-gaps" aria-label={`Gaps of ${day}`}>
      <div class="panel-head">
        <h3>
          <VenueTag venue={venue} /> {day}
          {cell?.row !== undefined && (
            <span class="quiet">
              {' '}
              {printCount(cell.row.observations)} books · {printCount(cell.row.markets)} markets
            </span>
          )}
        </h3>
        {hasGaps && (
          <div class="panel-tools">
            <ListTools
              title={`gaps of ${day}`}
              calls={panel.calls}
              whole={`gaps-${venue}-${day}`}
            />
          </div>
        )}
      </div>
      <DayReasons cell={cell} />
      {load.trouble !== undefined && <TroubleNote trouble={load.trouble} />}
      {hasGaps && <DayGapTable venue={venue} day={day} gaps={load.data.slice(0, SHOWN_GAPS)} />}
    </section>
  )
}

function DayReasons({ cell }: { readonly cell: CalendarCell | undefined }) {
  const reasons = cell?.row?.reasons ?? []
  if (reasons.length === 0) {
    return (
      <p>
        {cell === undefined || cell.state === 'missing'
          ? 'Nothing was recorded on this day.'
          : cell.state === 'before'
            ? GAP_REASONS.before_capture
            : 'No gaps: every market that traded was recorded.'}
      </p>
    )
  }
  return (
    <ul class="reasons">
      {reasons.map(({ reason, gaps, gap_ms: ms }) => (
        <li key={reason}>
          <span class="hatch-key" aria-hidden="true" />{' '}
          <strong>{reason.replaceAll('_', ' ')}</strong> {printCount(gaps)} ×,{' '}
          {printSpan(Number(ms) * 1000)} in all. <span class="quiet">{gapSentence(reason)}</span>
        </li>
      ))}
    </ul>
  )
}

type DayGap = GapSpan & { readonly key: string | null }
type Column = 'Reason' | 'What' | 'From' | 'To' | 'Length'

function keyOf({ reason, scope, key: id, start, end }: DayGap, column: Column) {
  switch (column) {
    case 'Reason':
      return reason
    case 'What':
      return scope === 'venue' || id === null ? '' : id
    case 'From':
      return start
    case 'To':
      return end
    case 'Length':
      return end === undefined ? undefined : end - start
  }
}

function DayGapTable(props: {
  readonly venue: VenueId
  readonly day: string
  readonly gaps: readonly DayGap[]
}) {
  const { venue, day } = props
  const { sorted: gaps, head } = useOrder(props.gaps, keyOf)
  return (
    <ScrollBox label={`List of gaps of ${day}`}>
      <table class="gap-table">
        <thead>
          <tr>
            <SortHead {...head('Reason')} />
            <SortHead {...head('What')} />
            <SortHead {...head('From')} />
            <SortHead {...head('To')} />
            <SortHead {...head('Length')} class="num" />
          </tr>
        </thead>
        <tbody>
          {gaps.map((gap, index) => (
            <tr key={index}>
              <td>
                <span class="hatch-key" aria-hidden="true" /> {gap.reason.replaceAll('_', ' ')}
              </td>
              <td class="gap-key">
                <GapKey venue={venue} gap={gap} />
              </td>
              <td>{showSeconds(gap.start).slice(5)}</td>
              <td>{gap.end === undefined ? 'open' : showSeconds(gap.end).slice(5)}</td>
              <td class="num">{gap.end === undefined ? 'open' : printSpan(gap.end - gap.start)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

// A key that is a market id links to its page; a token does not name its market.
function GapKey({ venue, gap }: { readonly venue: VenueId; readonly gap: DayGap }) {
  const { scope, key: id, start } = gap
  if (scope === 'venue' || id === null) return <>whole venue</>
  if (VENUES[venue].booksPer === 'token' && scope === 'instrument') {
    return <code title={id}>{`${id.slice(0, 14)}…`}</code>
  }
  return <a href={printPlace({ page: 'market', venue, marketId: id, time: start })}>{id}</a>
}
