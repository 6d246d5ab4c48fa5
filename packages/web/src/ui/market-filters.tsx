import { MARKET_STATUSES, VENUE_IDS } from '@priorbook/sdk/domain'
import { useEffect, useState } from 'preact/hooks'
import type { MarketFilters } from '../model/place.ts'
import { venueTitle } from './words.tsx'

const TYPING_MS = 250
const WINDOWS = ['5m', '15m', '1h', '4h', '1d']
const SORTS = [
  ['', 'activity'],
  ['close_time', 'closing time'],
  ['volume', 'volume'],
  ['open_time', 'newest'],
] as const

/** The filters of the list; all of them are in the address. */
export function MarketFiltersForm(props: {
  readonly filters: MarketFilters
  readonly onChange: (filters: MarketFilters) => void
}) {
  const { filters, onChange } = props
  const change = (news: Partial<Record<keyof MarketFilters, string>>): void => {
    const all: Record<string, string | undefined> = { ...filters, ...news }
    const set = Object.entries(all).filter(([, value]) => value !== undefined && value !== '')
    onChange(Object.fromEntries(set))
  }
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <TypedField
        label="Search"
        placeholder="title, id, slug or ticker"
        class="wide"
        value={filters.q ?? ''}
        onChange={(q) => change({ q })}
      />
      <Choice
        label="Venue"
        value={filters.venue ?? ''}
        choices={[
          ['', 'all venues'],
          ...VENUE_IDS.map((venue) => [venue, venueTitle(venue)] as const),
        ]}
        onChange={(venue) => change({ venue })}
      />
      <Choice
        label="Status"
        value={filters.status ?? ''}
        choices={[
          ['', 'open'],
          ['any', 'any status'],
          ...MARKET_STATUSES.filter((word) => word !== 'open').map((word) => [word, word] as const),
        ]}
        onChange={(status) => change({ status })}
      />
      <TypedField
        label="Asset"
        placeholder="btc"
        value={filters.asset ?? ''}
        onChange={(asset) => change({ asset })}
      />
      <TypedField
        label="Series"
        placeholder="KXBTC15M"
        value={filters.series ?? ''}
        onChange={(series) => change({ series })}
      />
      <Choice
        label="Window"
        value={filters.window ?? ''}
        choices={[['', 'any'], ...WINDOWS.map((word) => [word, word] as const)]}
        onChange={(window) => change({ window })}
      />
      <Choice
        label="Sort by"
        value={filters.sort ?? ''}
        choices={SORTS}
        onChange={(sort) => change({ sort })}
      />
    </form>
  )
}

function Choice(props: {
  readonly label: string
  readonly value: string
  readonly choices: readonly (readonly [string, string])[]
  readonly onChange: (value: string) => void
}) {
  return (
    <label>
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.choices.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

// The list follows the input with a delay, not with every letter.
function TypedField(props: {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly class?: string
  readonly onChange: (value: string) => void
}) {
  const [text, setText] = useState(props.value)
  useEffect(() => setText(props.value), [props.value])
  useEffect(() => {
    if (text.trim() === props.value) return undefined
    const timer = setTimeout(() => props.onChange(text.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label class={props.class ?? ''}>
      <span>{props.label}</span>
      <input
        type="search"
        value={text}
        placeholder={props.placeholder}
        maxLength={100}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  )
}
