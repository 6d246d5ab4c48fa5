import { CONTRACT_STATUSES } from '@priorbook/sdk/wire'
import { computed } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { go } from '../app/router.ts'
import { printCount } from '../model/decimal.ts'
import { withoutParam } from '../model/export.ts'
import { isFiltered, nothingMatches } from '../model/filter-words.ts'
import { changeFilters, type ContractFilters } from '../model/place.ts'
import { ContractList } from '../session/contract-list.ts'
import { ContractQuotes } from '../session/contract-quotes.ts'
import { ContractTable } from '../ui/contract-table.tsx'
import { AssetField, Choice, TypedField, WindowChoice } from '../ui/fields.tsx'
import { ListTools } from '../ui/export-box.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'

/** What can be compared: contracts that are traded on several venues, the open ones first. */
export function ContractsPage({ filters }: { readonly filters: ContractFilters }) {
  const { list, quotes, exported } = useMemo(() => {
    const made = new ContractList(filters)
    // The prices of rows are not what the list exports.
    return {
      list: made,
      quotes: new ContractQuotes(createPanel()),
      // The page reads one status after another; a file has all of them.
      exported: computed(() =>
        filters.status === undefined
          ? made.panel.calls.value.map((call) => withoutParam(call, 'status'))
          : made.panel.calls.value,
      ),
    }
  }, [`${key.value} ${JSON.stringify(filters)}`])
  useEffect(() => () => (list.close(), quotes.close()), [list])
  const rows = list.rows.value
  const trouble = list.trouble.value
  const isLoading = list.isLoading.value
  const hasMore = list.hasMore.value
  return (
    <main id="main" class="page contracts-page">
      <div class="page-head">
        <h1>Compare contracts</h1>
        <p class="quiet" aria-live="polite">
          {isLoading && rows.length === 0
            ? 'Loading…'
            : `${printCount(rows.length)}${hasMore ? ' and more' : ''}`}
        </p>
        <p class="quiet">The same bet on several venues, in prices after fees.</p>
        <span class="grow" />
        <ListTools title="Contracts" calls={list.panel.calls} exported={exported} />
      </div>
      <ContractFiltersForm filters={filters} />
      {list.remark.value !== undefined && (
        <p class="remark" role="status">
          {list.remark.value}
        </p>
      )}
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {rows.length > 0 && <ContractTable rows={rows} quotes={quotes} />}
      {rows.length === 0 && !isLoading && !hasMore && trouble === undefined && (
        <EmptyNote
          title={nothingMatches('contract', filters)}
          text="A contract is listed as soon as markets of two venues bet on the same."
          {...(isFiltered(filters)
            ? { action: { href: '/contracts', name: 'All contracts' } }
            : {})}
        />
      )}
      {hasMore && rows.length > 0 && (
        <p>
          <button type="button" disabled={isLoading} onClick={() => void list.more()}>
            More contracts
          </button>
        </p>
      )}
    </main>
  )
}

function ContractFiltersForm({ filters }: { readonly filters: ContractFilters }) {
  const change = (news: Partial<Record<keyof ContractFilters, string>>): void => {
    go({ page: 'contracts', filters: changeFilters(filters, news) }, 'replace')
  }
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <TypedField
        label="Search"
        placeholder="title, id, slug or ticker of a member"
        class="wide"
        value={filters.q ?? ''}
        onChange={(q) => change({ q })}
      />
      <AssetField value={filters.asset} onChange={(asset) => change({ asset })} />
      <WindowChoice value={filters.window} onChange={(window) => change({ window })} />
      <Choice
        label="Status"
        value={filters.status ?? ''}
        choices={[
          ['', 'any, open first'],
          ...CONTRACT_STATUSES.map((word) => [word, word] as const),
        ]}
        onChange={(status) => change({ status })}
      />
    </form>
  )
}
