import type { VenueId } from '@priorbook/sdk/domain'
import type { EventWithMarketsJson } from '@priorbook/sdk/wire'
import { useSignalEffect } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { rewriteAddress } from '../app/router.ts'
import { showSeconds, zoneName } from '../app/show.ts'
import { useSubject } from '../app/title.ts'
import { printCount } from '../model/decimal.ts'
import { printPlace, type Place } from '../model/place.ts'
import type { Range } from '../model/range.ts'
import { microsOrAbsent } from '../model/time.ts'
import { EventSession } from '../session/event-session.ts'
import { EventChart } from '../ui/event-chart.tsx'
import { EventSums } from '../ui/event-sums.tsx'
import { EventTable } from '../ui/event-table.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import { ViewBar } from '../ui/view-bar.tsx'
import { VenueTag } from '../ui/words.tsx'

/** One event: its outcomes in a table and on one chart, and the sum of their prices. */
export function EventPage(props: {
  readonly venue: VenueId
  readonly eventId: string
  readonly range: Range | undefined
}) {
  const { venue, eventId } = props
  const session = useMemo(
    () => new EventSession(venue, eventId, props.range),
    [`${key.value} ${venue} ${eventId}`],
  )
  useEffect(() => () => session.close(), [session])
  const event = session.event.value
  useSubject(event?.title ?? undefined)
  const trouble = session.trouble.value
  const lines = session.lines.value
  if (event === undefined) {
    return (
      <main id="main" class="page">
        <h1 class="sr">Event {eventId}</h1>
        {trouble === undefined ? <p class="quiet">Loading…</p> : <TroubleNote trouble={trouble} />}
      </main>
    )
  }
  const drawn = lines?.markets ?? []
  return (
    <main id="main" class="page event-page" data-loaded={lines === undefined ? 'no' : 'yes'}>
      <EventHead event={event} />
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      <Lines session={session} venue={venue} eventId={eventId} />
      <div class="event-grid">
        <PanelBox title="Outcomes" calls={session.panel.calls} count={event.markets.length}>
          <EventTable
            venue={venue}
            markets={event.markets}
            drawn={drawn.map(({ market_id: id }) => id)}
          />
        </PanelBox>
        <PanelBox title="Sum of prices" calls={session.panel.calls}>
          <EventSums event={event} />
          {event.is_exclusive === true && <p>At most one of these markets can end with Yes.</p>}
          {event.conversion !== null && <p>{event.conversion}</p>}
        </PanelBox>
      </div>
    </main>
  )
}

function Lines(props: {
  readonly session: EventSession
  readonly venue: VenueId
  readonly eventId: string
}) {
  const { session, venue, eventId } = props
  const { view } = session
  const address = (range: Range | undefined): Place => ({ page: 'event', venue, eventId, range })
  useSignalEffect(() => rewriteAddress(address(view.settled.value)))
  const lines = session.lines.value
  const count = session.event.value?.markets.length ?? 0
  const drawn = lines?.markets ?? []
  return (
    <>
      {lines !== undefined && (
        <ViewBar
          view={view}
          presets={[
            {
              name: 'Recorded',
              isShown: view.zoom.value === undefined,
              show: () => view.show(undefined),
            },
          ]}
          link={() => location.origin + printPlace(address(view.zoom.peek()))}
        />
      )}
      <PanelBox title="Prices over time" calls={session.chartPanel.calls}>
        {lines === undefined ? (
          <p class="quiet">No book of this event has been recorded yet.</p>
        ) : (
          <EventChart lines={lines} view={view} />
        )}
        {lines !== undefined && count > drawn.length && (
          <p class="quiet">
            The {drawn.length} outcomes with the highest prices are drawn; all {count} are in the
            table.
          </p>
        )}
      </PanelBox>
    </>
  )
}

function EventHead({ event }: { readonly event: EventWithMarketsJson }) {
  const { venue, event_id: eventId, title, category, tags } = event
  const close = microsOrAbsent(event.last_close_time)
  return (
    <div class="page-head event-head">
      <VenueTag venue={venue} />
      <h1>{title ?? eventId}</h1>
      <p class="quiet">
        {printCount(event.market_count)} {event.market_count === 1 ? 'market' : 'markets'},{' '}
        {printCount(event.open_market_count)} open
        {close !== undefined && ` · last close ${showSeconds(close)} ${zoneName(close)}`}
      </p>
      <nav class="chips" aria-label="Category and tags">
        {category !== null && (
          <a class="chip" href={printPlace({ page: 'events', filters: { category } })}>
            {category}
          </a>
        )}
        {tags.map((tag) => (
          <a class="chip" key={tag} href={printPlace({ page: 'events', filters: { tag } })}>
            {tag}
          </a>
        ))}
      </nav>
    </div>
  )
}
