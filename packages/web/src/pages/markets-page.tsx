import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { go } from '../app/router.ts'
import { printCount } from '../model/decimal.ts'
import { isFiltered, nothingMatches } from '../model/filter-words.ts'
import { changeFilters, type MarketFilters } from '../model/place.ts'
import { ListQuotes } from '../session/list-quotes.ts'
import { MarketList } from '../session/market-list.ts'
import { CategoryChips } from '../ui/category-chips.tsx'
import { ListTools } from '../ui/export-box.tsx'
import { LinkWord } from '../ui/words.tsx'
import { MarketFiltersForm } from '../ui/market-filters.tsx'
import { MarketTable } from '../ui/market-table.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'

/** All markets of all venues, filtered and sorted, with live quotes of the visible ones. */
export function MarketsPage({ filters }: { readonly filters: MarketFilters }) {
  const identity = `${key.value} ${JSON.stringify(filters)}`
  const { list, quotes } = useMemo(() => {
    const made = new MarketList(filters)
    return {
      list: made,
      quotes: new ListQuotes(made.panel.client, (signal) => made.refresh(signal)),
    }
  }, [identity])
  useEffect(
    () => () => {
      list.close()
      quotes.close()
    },
    [list],
  )
  const rows = list.rows.value
  const trouble = list.trouble.value
  const show = (news: MarketFilters): void =>
    go({ page: 'markets', filters: changeFilters(filters, news) }, 'replace')
  return (
    <main id="main" class="page">
      <MarketsHead list={list} quotes={quotes} />
      <CategoryChips
        chosen={filters.category}
        count="open_market_count"
        placeOf={(category) => ({ page: 'markets', filters: changeFilters(filters, { category }) })}
      />
      <MarketFiltersForm
        filters={filters}
        onChange={(next) => go({ page: 'markets', filters: next }, 'replace')}
      />
      {list.remark.value !== undefined && (
        <p class="remark" role="status">
          {list.remark.value}
        </p>
      )}
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {rows.length === 0 &&
      !list.isLoading.value &&
      !list.hasMore.value &&
      trouble === undefined ? (
        <EmptyNote
          title={nothingMatches('market', filters)}
          text={
            isFiltered(filters)
              ? 'Recorded markets stay in the list after their end, so none was recorded that matches.'
              : 'Nothing has been recorded yet. Markets appear here with their first record.'
          }
          {...(isFiltered(filters) ? { action: { href: '/markets', name: 'All markets' } } : {})}
        />
      ) : (
        <MarketTable
          rows={rows}
          quotes={quotes}
          hasMore={list.hasMore.value}
          onEnd={() => void list.more()}
          sort={{ value: filters.sort ?? '', onChange: (sort) => show({ sort }) }}
        />
      )}
    </main>
  )
}

function MarketsHead({ list, quotes }: { readonly list: MarketList; readonly quotes: ListQuotes }) {
  const count = list.rows.value.length
  return (
    <div class="page-head">
      <h1>Markets</h1>
      <p class="quiet" aria-live="polite">
        {list.isLoading.value && count === 0
          ? 'Loading…'
          : `${printCount(count)}${list.hasMore.value ? ' and more' : ''}`}
      </p>
      <LinkWord link={quotes.link.value} />
      <span class="grow" />
      <ListTools title="Markets" calls={list.panel.calls} />
    </div>
  )
}
