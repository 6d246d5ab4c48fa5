import { MARKET_STATUSES } from '@priorbook/sdk/domain'
import { changeFilters, type MarketFilters } from '../model/place.ts'
import { AssetField, Choice, TypedField, VenueChoice, WindowChoice } from './fields.tsx'

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
    onChange(changeFilters(filters, news))
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
      <VenueChoice value={filters.venue} onChange={(venue) => change({ venue })} />
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
      <AssetField value={filters.asset} onChange={(asset) => change({ asset })} />
      <TypedField
        label="Series"
        placeholder="KXBTC15M"
        value={filters.series ?? ''}
        onChange={(series) => change({ series })}
      />
      <WindowChoice value={filters.window} onChange={(window) => change({ window })} />
      <Choice
        label="Sort by"
        value={filters.sort ?? ''}
        choices={SORTS}
        onChange={(sort) => change({ sort })}
      />
      <TypedField
        label="Tag"
        placeholder="Elections"
        value={filters.tag ?? ''}
        onChange={(tag) => change({ tag })}
      />
    </form>
  )
}
