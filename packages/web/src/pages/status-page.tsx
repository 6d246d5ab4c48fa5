import type { StatusJson } from '@priorbook/sdk/client'
import { useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { useLoad } from '../app/use-load.ts'
import { showSeconds } from '../app/show.ts'
import { printCount } from '../model/decimal.ts'
import { microsOf, printSpan } from '../model/time.ts'
import { Facts, StatusWord, VenueTag, venueTitle } from '../ui/words.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'

const EVERY_MS = 2000

/** The state of the recorder, its rates and recent incidents. */
export function StatusPage() {
  const panel = useMemo(createPanel, [key.value])
  const load = useLoad(
    async (signal) => {
      panel.note('status')
      return (await panel.client.status({ signal })).data
    },
    [panel],
    EVERY_MS,
  )
  const { data, trouble } = load
  return (
    <main id="main" class="page status-page">
      <div class="page-head">
        <h1>Recorder</h1>
        {data !== undefined && <StatusWord status={data.state} />}
      </div>
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {data === undefined && trouble === undefined && <p class="quiet">Loading…</p>}
      {data !== undefined && (
        <>
          <PanelBox title="Now" calls={panel.calls}>
            <Lag status={data} />
            <VenueTable status={data} />
          </PanelBox>
          <PanelBox title="Incidents of seven days">
            <Incidents incidents={data.incidents} />
          </PanelBox>
        </>
      )}
    </main>
  )
}

function Lag({ status }: { readonly status: StatusJson }) {
  const { recorder } = status
  if (recorder === null) {
    return (
      <EmptyNote
        title="Nothing is being recorded"
        text={
          key.value === undefined
            ? 'These are samples. With a key you see the recorder of this installation.'
            : 'This installation serves earlier recordings.'
        }
      />
    )
  }
  const rate = status.venues.reduce((sum, one) => sum + (one.capture?.messages_per_second ?? 0), 0)
  const quarantined = status.venues.reduce((sum, one) => sum + (one.capture?.quarantined ?? 0), 0)
  const facts: (readonly [string, string])[] = [
    ['Messages per second', printCount(Math.round(rate))],
    ['Lag, median', `${recorder.lag_p50_ms} ms`],
    ['Lag, p99', `${recorder.lag_p99_ms} ms`],
    ['Quarantined', printCount(quarantined)],
    ['Disk', recorder.disk_full ? '▲ full: recording has stopped' : 'has space'],
  ]
  return <Facts class="big-facts" facts={facts} />
}

const HEADS = [
  'Venue',
  'State',
  'Books open',
  'Msg/s',
  'Messages',
  'Books',
  'Trades',
  'Samples',
  'Gaps',
  'Quarantine',
  'Quota',
  'Last heard',
]

function VenueTable({ status }: { readonly status: StatusJson }) {
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label="Venues">
      <table class="venues">
        <thead>
          <tr>
            {HEADS.map((head, index) => (
              <th key={head} scope="col" class={index < 2 ? '' : 'num'}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {status.venues.map((venue) => (
            <VenueRow key={venue.venue} venue={venue} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function VenueRow({ venue: row }: { readonly venue: StatusJson['venues'][number] }) {
  const { capture } = row
  const last = row.last_received_time
  const age = last === null ? undefined : Date.now() * 1000 - microsOf(last)
  const count = (value: number | undefined): string =>
    value === undefined ? '–' : printCount(value)
  return (
    <tr>
      <th scope="row">
        <VenueTag venue={row.venue} /> <span class="venue-name">{venueTitle(row.venue)}</span>
      </th>
      <td data-head="State">
        <StatusWord status={row.state} />
        {row.detail !== null && <div class="quiet">{row.detail}</div>}
      </td>
      <td data-head="Books open" class="num">
        {capture === null ? '–' : `${capture.books_open} of ${capture.books}`}
        {row.open_gaps > 0 && <div class="quiet">{row.open_gaps} gaps open</div>}
      </td>
      <td data-head="Msg/s" class="num">
        {count(capture?.messages_per_second)}
      </td>
      <td data-head="Messages" class="num">
        {count(capture?.messages)}
      </td>
      <td data-head="Books" class="num">
        {count(capture?.observations)}
      </td>
      <td data-head="Trades" class="num">
        {count(capture?.trades)}
      </td>
      <td data-head="Samples" class="num">
        {count(capture?.samples)}
      </td>
      <td data-head="Gaps" class="num">
        {count(capture?.gaps)}
      </td>
      <td data-head="Quarantine" class="num">
        {count(capture?.quarantined)}
      </td>
      <td data-head="Quota" class="num">
        {capture?.quota === null || capture === null ? (
          '–'
        ) : (
          <>
            {printCount(capture.quota.used)} of {printCount(capture.quota.limit)}
            {capture.quota.refused > 0 && <div class="quiet">{capture.quota.refused} refused</div>}
          </>
        )}
      </td>
      <td data-head="Last heard" class="num">
        {age === undefined ? 'never' : `${printSpan(age)} ago`}
      </td>
    </tr>
  )
}

function Incidents({ incidents }: { readonly incidents: StatusJson['incidents'] }) {
  if (incidents.length === 0) {
    return (
      <p class="quiet">No venue was lost completely. Coverage lists the gaps of single markets.</p>
    )
  }
  return (
    <ol class="incidents">
      {incidents.map((one) => {
        const end = one.end_time === null ? undefined : microsOf(one.end_time)
        const start = microsOf(one.start_time)
        return (
          <li key={`${one.venue} ${one.start_time} ${one.reason}`}>
            <VenueTag venue={one.venue} />
            <strong>{one.reason.replaceAll('_', ' ')}</strong>
            <span>{one.summary}</span>
            <span class="quiet">
              {showSeconds(start)} – {end === undefined ? 'still open' : showSeconds(end)}
              {end !== undefined && ` (${printSpan(end - start)})`}
              {one.detail !== null && ` · ${one.detail}`}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
