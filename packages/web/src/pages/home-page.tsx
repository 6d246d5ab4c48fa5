import type { ListedMarketJson } from '@priorbook/sdk/client'
import { particularOf } from '@priorbook/sdk/wire'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { useLoad } from '../app/use-load.ts'
import { originOf, type DataOrigin } from '../model/data-origin.ts'
import { activityOf, isTrading } from '../model/market-sort.ts'
import { printPlace } from '../model/place.ts'
import { microsOrAbsent, MINUTE, printSpan } from '../model/time.ts'
import { ChartStore } from '../session/chart-store.ts'
import { ListQuotes } from '../session/list-quotes.ts'
import { MarketSession } from '../session/market-session.ts'
import { ContractCard } from '../ui/contract-card.tsx'
import { Heatmap } from '../ui/heatmap.tsx'
import { Ladders } from '../ui/ladder.tsx'
import { Welcome } from '../ui/welcome.tsx'
import { LinkWord, VenueTag } from '../ui/words.tsx'
import { MarketTable } from '../ui/market-table.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'

// How often the list is requested: before and after the first market with a book.
const SOON_MS = 1500
const EVERY_MS = 15_000
const LISTED = 14

/** The start page: the busiest market now, and a list of others. */
export function HomePage() {
  const panel = useMemo(createPanel, [key.value])
  const [found, setFound] = useState<readonly ListedMarketJson[]>([])
  const [origin, setOrigin] = useState<DataOrigin | undefined>(undefined)
  const load = useLoad(
    async (signal) => {
      const params = { order: 'desc', limit: 100 } as const
      panel.note('markets', { ...params, status: 'open' })
      const open = await panel.client.markets({ ...params, status: 'open' }, { signal }).page()
      const rows =
        open.data.length > 0 ? open : await panel.client.markets(params, { signal }).page()
      setOrigin(originOf(rows.notices))
      // Only markets with a book; without any the list is requested again soon.
      const recorded = rows.data
        .filter(({ coverage }) => coverage.observations > 0)
        .toSorted((a, b) => activityOf(b) - activityOf(a))
      setFound((before) => withFeatured(before[0], recorded))
    },
    [panel, found.length > 0],
    found.length > 0 ? EVERY_MS : SOON_MS,
  )
  const quotes = useMemo(
    () =>
      new ListQuotes(panel.client, async (signal) => {
        const params = { status: 'open', order: 'desc', limit: 100 } as const
        return (await panel.client.markets(params, { signal }).page()).data
      }),
    [panel],
  )
  useEffect(() => () => quotes.close(), [quotes])
  const [first] = found
  const isNow = found.some((row) => isTrading(row, Date.now() * 1000))
  return (
    <main id="main" class="page home-page">
      <Welcome origin={origin} />
      {load.trouble !== undefined && <TroubleNote trouble={load.trouble} />}
      {first === undefined && load.trouble === undefined && (
        <EmptyNote
          title={load.isLoading ? 'Looking for the busiest market' : 'Waiting for the first books'}
          text="The recorder needs a moment after its start. This page updates by itself."
        />
      )}
      <ContractCard markets={found} />
      {first !== undefined && (
        <Featured key={`${first.venue} ${first.market_id}`} market={first} isNow={isNow} />
      )}
      {found.length > 1 && (
        <PanelBox
          title={isNow ? 'Busiest now' : 'Recorded markets; none trades now'}
          calls={panel.calls}
          tools={<a href="/markets">All markets</a>}
          class="bare"
        >
          <MarketTable
            rows={found.slice(0, LISTED)}
            quotes={quotes}
            hasMore={false}
            onEnd={() => undefined}
          />
        </PanelBox>
      )}
    </main>
  )
}

// The featured market stays until it closes; the busiest one with time left follows.
function withFeatured(
  shown: ListedMarketJson | undefined,
  recorded: readonly ListedMarketJson[],
): readonly ListedMarketJson[] {
  const now = Date.now() * 1000
  const left = (row: ListedMarketJson): number => (microsOrAbsent(row.close_time) ?? Infinity) - now
  const isSame = (row: ListedMarketJson): boolean =>
    row.market_id === shown?.market_id && row.venue === shown.venue
  const kept = shown !== undefined && left(shown) > 0 ? recorded.find(isSame) : undefined
  const first = kept ?? recorded.find((row) => left(row) > MINUTE) ?? recorded[0]
  return first === undefined ? [] : [first, ...recorded.filter((row) => row !== first)]
}

function Featured(props: { readonly market: ListedMarketJson; readonly isNow: boolean }) {
  const { market, isNow } = props
  const { venue, market_id: marketId } = market
  const store = useMemo(
    () => new ChartStore(new MarketSession({ venue, market_id: marketId })),
    [venue, marketId, key.value],
  )
  const { session } = store
  useEffect(() => () => (store.close(), session.close()), [store])
  const close = microsOrAbsent(market.close_time)
  const href = printPlace({ page: 'market', venue, marketId, time: session.time.value })
  const particular = particularOf(market)
  const left = close === undefined ? -1 : close - session.present.value
  return (
    <PanelBox
      title={isNow ? 'Busiest market' : 'Busiest recorded market'}
      class="featured"
      calls={store.panel.calls}
      tools={<LinkWord link={session.link.value} moment={session.moment.value} />}
    >
      <div class="featured-title">
        <VenueTag venue={venue} />
        <a href={href}>{market.title ?? marketId}</a>
        {particular !== undefined && <span class="particular">{particular}</span>}
        <span class="quiet">{left > 0 ? `closes in ${printSpan(left)}` : ''}</span>
        <span class="legend">
          <i class="k-bid" /> bids <i class="k-ask" /> asks <i class="hatch-key" /> gap
        </span>
      </div>
      <div class="featured-grid">
        <Heatmap store={store} height={540} />
        <Ladders session={session} />
      </div>
    </PanelBox>
  )
}
