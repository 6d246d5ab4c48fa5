import type { AlertDeliveryJson } from '@priorbook/sdk/wire'
import { showExact, showPrice, zoneName } from '../app/show.ts'
import { eventPlace, eventWords } from '../model/alert-words.ts'
import { microsOf, microsOrAbsent, printSpan } from '../model/time.ts'
import { Ago } from './alert-table.tsx'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'
import { useSeconds } from './use-seconds.ts'
import { StatusWord } from './words.tsx'

type Column = 'No.' | 'Event' | 'Time' | 'State' | 'Attempts' | 'Answer' | 'Ended'

/** The newest events of a rule and how their delivery stands. */
export function DeliveryTable({ rows }: { readonly rows: readonly AlertDeliveryJson[] }) {
  const now = useSeconds()
  const { sorted, head } = useOrder(rows, keyOf)
  return (
    <ScrollBox label="Deliveries" class="deliveries-scroll">
      <table class="deliveries">
        <thead>
          <tr>
            <SortHead {...head('No.')} class="num" />
            <SortHead {...head('Event')} />
            <SortHead {...head('Time')} />
            <SortHead {...head('State')} />
            <SortHead {...head('Attempts')} class="num" />
            <SortHead {...head('Answer')} />
            <SortHead {...head('Ended')} />
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <DeliveryRow key={row.id} row={row} now={now} />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function DeliveryRow({ row, now }: { readonly row: AlertDeliveryJson; readonly now: number }) {
  const time = microsOf(row.event.time)
  const place = eventPlace(row.event)
  const next = microsOrAbsent(row.next_time)
  return (
    <tr data-delivery={row.id}>
      <td data-head="No." class="num">
        {row.number}
      </td>
      <th data-head="Event" scope="row">
        {eventWords(row.event, showPrice)}
        {place !== undefined && (
          <a class="mid" href={place.href}>
            {place.text}
          </a>
        )}
      </th>
      <td data-head="Time">
        <time title={zoneName(time)}>{showExact(time).slice(5, 23)}</time>
      </td>
      <td data-head="State">
        <StatusWord status={row.state} />
        {row.state === 'pending' && next !== undefined && row.attempts > 0 && (
          <span class="quiet"> again in {printSpan(next - now)}</span>
        )}
      </td>
      <td data-head="Attempts" class="num">
        {row.attempts}
      </td>
      <td data-head="Answer">
        {row.status === null ? '–' : row.status}
        {row.error !== null && <span class="gap-word why"> {row.error}</span>}
      </td>
      <td data-head="Ended">
        {row.ended_time === null ? '–' : <Ago time={microsOf(row.ended_time)} now={now} />}
      </td>
    </tr>
  )
}

function keyOf(row: AlertDeliveryJson, column: Column): string | number | undefined {
  switch (column) {
    case 'No.':
      return row.number
    case 'Event':
      return eventWords(row.event, showPrice)
    case 'Time':
      return microsOf(row.event.time)
    case 'State':
      return row.state
    case 'Attempts':
      return row.attempts
    case 'Answer':
      return row.status ?? undefined
    case 'Ended':
      return microsOrAbsent(row.ended_time)
  }
}
