import type { EventJson } from '@priorbook/sdk/wire'
import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { go } from '../app/router.ts'
import { showSeconds, zoneName } from '../app/show.ts'
import { printCount } from '../model/decimal.ts'
import { nothingMatches } from '../model/filter-words.ts'
import { changeFilters, printPlace, type EventFilters } from '../model/place.ts'
import { microsOrAbsent } from '../model/time.ts'
import { EventList } from '../session/event-list.ts'
import { CategoryChips } from '../ui/category-chips.tsx'
import { Choice, TypedField, VenueChoice } from '../ui/fields.tsx'
import { ListTools } from '../ui/export-box.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'
import { VenueTag } from '../ui/words.tsx'

/** Events of all venues by category, filtered and sorted. */
export function EventsPage({ filters }: { readonly filters: EventFilters }) {
  const list = useMemo(() => new EventList(filters), [`${key.value} ${JSON.stringify(filters)}`])
  useEffect(() => () => list.close(), [list])
  const rows = list.rows.value
  const trouble = list.trouble.value
  const isLoading = list.isLoading.value
  return (
    <main id="main" class="page">
      <div class="page-head">
        <h1>Events</h1>
        <p class="quiet" aria-live="polite">
          {isLoading && rows.length === 0
            ? 'Loading…'
            : `${printCount(rows.length)}${list.hasMore.value ? ' and more' : ''}`}
        </p>
        <span class="grow" />
        <ListTools title="Events" calls={list.panel.calls} />
      </div>
      <CategoryChips
        chosen={filters.category}
        count="open_event_count"
        placeOf={(category) => ({ page: 'events', filters: changeFilters(filters, { category }) })}
      />
      <EventFiltersForm filters={filters} />
      {list.remark.value !== undefined && (
        <p class="remark" role="status">
          {list.remark.value}
        </p>
      )}
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {rows.length > 0 && <EventRows rows={rows} />}
      {rows.length === 0 && !isLoading && trouble === undefined && !list.hasMore.value && (
        <EmptyNote
          title={nothingMatches('event', filters)}
          text={
            filters.status === 'all'
              ? 'Recorded events stay in the list after their end, so none was recorded that matches.'
              : 'Only events with an open market were searched.'
          }
          {...(filters.status === 'all'
            ? { action: { href: '/events?status=all', name: 'All events' } }
            : {
                action: {
                  href: printPlace({ page: 'events', filters: { ...filters, status: 'all' } }),
                  name: 'Search all events',
                },
              })}
        />
      )}
      {list.hasMore.value && rows.length > 0 && (
        <p>
          <button type="button" disabled={isLoading} onClick={() => void list.more()}>
            More events
          </button>
        </p>
      )}
    </main>
  )
}

function EventFiltersForm({ filters }: { readonly filters: EventFilters }) {
  const change = (news: Partial<Record<keyof EventFilters, string>>): void => {
    go({ page: 'events', filters: changeFilters(filters, news) }, 'replace')
  }
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <TypedField
        label="Search"
        placeholder="title, id, slug or series"
        class="wide"
        value={filters.q ?? ''}
        onChange={(q) => change({ q })}
      />
      <VenueChoice value={filters.venue} onChange={(venue) => change({ venue })} />
      <Choice
        label="Status"
        value={filters.status ?? ''}
        choices={[
          ['', 'with an open market'],
          ['all', 'all events'],
        ]}
        onChange={(status) => change({ status })}
      />
      <TypedField
        label="Tag"
        placeholder="Elections"
        value={filters.tag ?? ''}
        onChange={(tag) => change({ tag })}
      />
      <Choice
        label="Sort by"
        value={filters.sort ?? ''}
        choices={[
          ['', 'closing time'],
          ['open_time', 'newest'],
        ]}
        onChange={(sort) => change({ sort })}
      />
    </form>
  )
}

function EventRows({ rows }: { readonly rows: readonly EventJson[] }) {
  return (
    <ul class="event-list">
      {rows.map((row) => (
        <EventRow key={`${row.venue} ${row.event_id}`} row={row} />
      ))}
    </ul>
  )
}

function EventRow({ row }: { readonly row: EventJson }) {
  const { venue, event_id: eventId, title, category } = row
  const close = microsOrAbsent(row.last_close_time)
  return (
    <li>
      <VenueTag venue={venue} />
      <a href={printPlace({ page: 'event', venue, eventId })}>
        <span class="mname">{title ?? eventId}</span>
        <span class="mid">{eventId}</span>
      </a>
      <span class="event-facts quiet">
        {category !== null && <span>{category}</span>}
        <span>
          {printCount(row.open_market_count)} of {printCount(row.market_count)} open
        </span>
        {close !== undefined && (
          <span>
            closes {showSeconds(close).slice(0, 16)} {zoneName(close)}
          </span>
        )}
      </span>
    </li>
  )
}
