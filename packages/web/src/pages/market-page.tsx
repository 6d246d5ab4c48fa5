import { useComputed, useSignalEffect } from '@preact/signals'
import { isMarketState, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { particularOf } from '@priorbook/sdk/wire'
import { useCallback, useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { rewriteAddress } from '../app/router.ts'
import { priceUnit, showClock, showPrice } from '../app/show.ts'
import { useSubject } from '../app/title.ts'
import { quoteOf, complementOf } from '../model/book.ts'
import { printDecimal, printShort, printTicks } from '../model/decimal.ts'
import { toPriceLines } from '../model/history.ts'
import { printPlace, type Place } from '../model/place.ts'
import type { Range } from '../model/range.ts'
import { microsOrAbsent, MINUTE } from '../model/time.ts'
import { ChartStore } from '../session/chart-store.ts'
import { MarketSession } from '../session/market-session.ts'
import { GapTable } from '../ui/gap-table.tsx'
import { Heatmap } from '../ui/heatmap.tsx'
import { Identifiers } from '../ui/identifiers.tsx'
import { Ladders } from '../ui/ladder.tsx'
import { CloseFact, Fact } from '../ui/fact.tsx'
import { LineChart } from '../ui/line-chart.tsx'
import type { LineStyle } from '../ui/plot.ts'
import { LinkWord, StatusWord, VenueTag } from '../ui/words.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { ReferencePanel } from '../ui/reference-panel.tsx'
import { SamplesPanel } from '../ui/samples-panel.tsx'
import { Segments } from '../ui/segments.tsx'
import { Scrubber } from '../ui/scrubber.tsx'
import { Timeline } from '../ui/timeline.tsx'
import { TradeList } from '../ui/trade-list.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'
import { ViewBar, type Preset } from '../ui/view-bar.tsx'

/** One market at the present or at any instant of its past. */
export function MarketPage(props: {
  readonly venue: VenueId
  readonly marketId: string
  readonly time: number | undefined
  /** The span and the outcome of the charts. */
  readonly view: { readonly range?: Range | undefined; readonly outcome?: 1 | undefined }
}) {
  const { venue, marketId, view } = props
  const identity = `${key.value} ${venue} ${marketId}`
  const store = useMemo(() => {
    const session = new MarketSession({ venue, market_id: marketId }, props.time)
    return new ChartStore(session, view.range, view.outcome)
  }, [identity])
  const { session } = store
  useEffect(() => () => (store.close(), session.close()), [store])
  useEffect(() => {
    if (props.time !== undefined && props.time !== session.time.peek()) session.seek(props.time)
  }, [props.time])
  const address = useMarketAddress(store)
  useSubject(session.record.value?.title ?? undefined)
  const trouble = session.trouble.value
  if (trouble !== undefined && !session.isLoaded.value) {
    return (
      <main id="main" class="page">
        <h1 class="sr">Market {marketId}</h1>
        <TroubleNote trouble={trouble} />
      </main>
    )
  }
  return (
    <main id="main" class="page market-page" data-loaded={session.isLoaded.value ? 'yes' : 'no'}>
      <MarketHead store={store} />
      {session.isLoaded.value && session.extent.value === undefined && (
        <EmptyNote title="Nothing has been recorded of this market yet" text={emptyText(session)} />
      )}
      <div class="market-grid">
        <div class="market-main">
          <MarketViewBar store={store} />
          <Charts store={store} />
          <div class="market-more">
            <PanelBox title="Status and resolution" calls={session.panels.revisions.calls}>
              <Timeline session={session} />
            </PanelBox>
            <PanelBox
              title="Gaps"
              calls={session.panels.gaps.calls}
              count={store.gaps.value.filter(({ reason }) => !isMarketState(reason)).length}
            >
              <GapTable
                gaps={store.gaps.value}
                now={session.present.value}
                onPick={(time) => session.seek(time)}
              />
            </PanelBox>
          </div>
        </div>
        <SidePanels store={store} />
      </div>
      <Scrubber
        store={store}
        link={() => location.origin + printPlace(address(store.view.zoom.peek()))}
      />
    </main>
  )
}

// The address names the view while it stands still, so that it can be shared.
function useMarketAddress(store: ChartStore): (range: Range | undefined) => Place {
  const { session } = store
  const { venue, market_id: marketId } = session.ref
  const address = (range: Range | undefined): Place => ({
    page: 'market',
    venue,
    marketId,
    time: session.time.value,
    outcome: store.outcome.value === 1 ? 1 : undefined,
    range,
  })
  useSignalEffect(() => {
    if (!session.replayer.isPlaying.value) rewriteAddress(address(store.view.settled.value))
  })
  return address
}

function SidePanels({ store }: { readonly store: ChartStore }) {
  const { session } = store
  return (
    <div class="market-side">
      <PanelBox
        title="Order book"
        calls={session.panels.book.calls}
        class="book-panel"
        scope={() => store.scopeOf('books')}
      >
        <Ladders session={session} />
        {session.replayer.trouble.value !== undefined && (
          <TroubleNote trouble={session.replayer.trouble.value} />
        )}
      </PanelBox>
      <PanelBox
        title="Executions"
        calls={session.panels.trades.calls}
        scope={() => store.scopeOf('trades')}
      >
        <TradeList session={session} />
      </PanelBox>
      {session.record.value !== undefined && (
        <PanelBox title="Identifiers" calls={session.panels.market.calls}>
          <Identifiers market={session.record.value} />
        </PanelBox>
      )}
    </div>
  )
}

function emptyText(session: MarketSession): string {
  const status = session.record.value?.status
  if (status === 'scheduled') return 'It has not opened yet. Its first book will appear here.'
  if (session.isOpen.value) return 'It is open. Its first book will appear here.'
  return 'It ended before recording began, or only its record is known. Its status is below.'
}

function MarketHead({ store }: { readonly store: ChartStore }) {
  const { session } = store
  const record = session.known.value
  const { venue, market_id: marketId } = session.ref
  const close = microsOrAbsent(record?.close_time)
  const view = session.outcomes.value?.[store.outcome.value]
  const emulated = session.notices.value.find(({ code }) => /emulated|sample/.test(code))
  const units = record?.units
  const event = record?.event
  const winner = record?.winning_outcome ?? null
  const particular = record === undefined ? undefined : particularOf(record)
  return (
    <div class="market-head">
      <div class="market-title">
        <VenueTag venue={venue} />
        <div>
          <h1>{record?.title ?? marketId}</h1>
          <p class="quiet">
            {particular !== undefined && <em class="particular">{particular} · </em>}
            {marketId.length > 40 ? `${marketId.slice(0, 18)}…${marketId.slice(-8)}` : marketId}
            {emulated !== undefined && <span class="emulated"> · {emulated.message}</span>}
          </p>
          {event !== undefined && event !== null && (
            <p>
              Event:{' '}
              <a href={printPlace({ page: 'event', venue, eventId: event.id })}>
                {event.title ?? event.id}
              </a>
            </p>
          )}
        </div>
      </div>
      <dl class="head-facts">
        <Fact name="Status" value={<StatusWord status={record?.status} />} />
        {winner !== null && <Fact name="Winner" value={winner} class="winner" />}
        <QuoteFacts store={store} label={view?.label ?? 'Yes'} />
        <Fact
          name={`Volume${units === undefined ? '' : `, ${units.volume_unit}`}`}
          value={
            record?.volume === null || record === undefined
              ? '–'
              : printShort(printDecimal(record.volume))
          }
        />
        <CloseFact close={close} clock={session.second.value} />
      </dl>
      <a class="alert-link" href={printPlace({ page: 'alerts', venue, marketId })}>
        Alert me…
      </a>
      <LinkWord link={session.link.value} moment={session.moment.value} />
    </div>
  )
}

// Bound to texts: they change with the ladders, in the same frame, without rendering the head.
function QuoteFacts({ store, label }: { readonly store: ChartStore; readonly label: string }) {
  const quote = useComputed(() => {
    const { session } = store
    const view = session.outcomes.value?.[store.outcome.value]
    const own = view === undefined ? undefined : session.bookOf(view.key)
    if (own === undefined) return undefined
    return quoteOf(view?.isComplement === true ? complementOf(own) : own)
  })
  const bid = useComputed(() => showPrice(quote.value?.bid))
  const ask = useComputed(() => showPrice(quote.value?.ask))
  const spread = useComputed(() => showPrice(quote.value?.spread))
  return (
    <>
      <Fact name={`${label} bid`} value={bid} class="bid" />
      <Fact name={`${label} ask`} value={ask} class="ask" />
      <Fact name="Spread" value={spread} />
    </>
  )
}

const LINES: readonly LineStyle[] = [
  { label: 'Best bid', stroke: 'bid-line' },
  { label: 'Best ask', stroke: 'ask-line' },
  { label: 'Middle', stroke: 'ink', width: 1, dash: [3, 3] },
]
const SPANS = [
  ['1 min', MINUTE],
  ['5 min', 5 * MINUTE],
  ['1 h', 60 * MINUTE],
] as const

function Charts({ store }: { readonly store: ChartStore }) {
  const hasSamples = VENUES[store.session.ref.venue].metrics.length > 0
  return (
    <>
      <PricePanel store={store} />
      <ReferencePanel store={store} />
      <PanelBox
        title="Depth over time"
        calls={store.panel.calls}
        tools={<DepthLegend store={store} />}
        scope={() => store.scopeOf('books')}
      >
        <Heatmap store={store} height={hasSamples ? 320 : 420} />
        {store.trouble.value !== undefined && <TroubleNote trouble={store.trouble.value} />}
      </PanelBox>
      {hasSamples && <SamplesPanel store={store} />}
    </>
  )
}

function PricePanel({ store }: { readonly store: ChartStore }) {
  const lines = useComputed(() => {
    const { value: history } = store.history
    return history === undefined ? [[], [], [], []] : toPriceLines(history, store.columns.value)
  })
  const values = useCallback((time: number) => quoteAt(store, time), [store])
  const outcomes = store.session.outcomes.value
  const tools = (
    <>
      <span class="legend">
        <i class="k-bid" /> bid <i class="k-ask" /> ask <i class="k-mid" /> middle{' '}
        <i class="hatch-key" /> gap
        <span>· {priceUnit(store.session.record.value?.units.price_unit)}</span>
      </span>
      {outcomes !== undefined && (
        <Segments
          label="Outcome"
          value={store.outcome.value}
          choices={[
            [0, outcomes[0].label],
            [1, outcomes[1].label],
          ]}
          onChange={(outcome) => (store.outcome.value = outcome)}
        />
      )}
    </>
  )
  return (
    <PanelBox
      title="Price and spread"
      calls={store.panel.calls}
      tools={tools}
      scope={() => store.scopeOf('books')}
    >
      <LineChart
        store={store}
        data={lines as never}
        lines={LINES}
        band={[2, 1]}
        height={170}
        values={values}
        label="Best bid, best ask and their middle over time"
      />
    </PanelBox>
  )
}

// Best prices at the instant of the crosshair, with every digit.
function quoteAt(store: ChartStore, time: number): string {
  const column = store.columnAt(time)
  if (typeof column === 'string') return `${showClock(time)} · ${column}`
  const [bid, ask] = [column.bidTicks[0], column.askTicks[0]]
  const decimals = store.history.peek()?.decimals ?? 0
  const print = (ticks: number | undefined, places: number): string =>
    showPrice(ticks === undefined ? undefined : printTicks(ticks, places))
  const middle = bid === undefined || ask === undefined ? undefined : (bid + ask) * 5
  return [
    showClock(time),
    `bid ${print(bid, decimals)}`,
    `ask ${print(ask, decimals)}`,
    `middle ${print(middle, decimals + 1)}`,
  ].join(' · ')
}

function DepthLegend({ store }: { readonly store: ChartStore }) {
  const units = store.session.record.value?.units
  return (
    <span class="legend">
      <i class="k-bid" /> bids <i class="k-ask" /> asks <i class="hatch-key" /> gap
      <span>
        · {priceUnit(units?.price_unit)}, stronger is more {units?.size_unit ?? ''}
      </span>
    </span>
  )
}

function MarketViewBar({ store }: { readonly store: ChartStore }) {
  const { view } = store
  const zoom = view.zoom.value
  const lifetime = store.lifetime.value
  const presets: Preset[] = [
    { name: 'Recorded', isShown: zoom === undefined, show: () => view.show(undefined) },
  ]
  if (lifetime !== undefined) {
    const isShown = zoom?.from === lifetime.from && zoom.to === lifetime.to
    presets.push({ name: 'Lifetime', isShown, show: () => view.show(lifetime) })
  }
  for (const [name, span] of SPANS) {
    const isShown = zoom !== undefined && zoom.to - zoom.from === span
    presets.push({ name, isShown, show: () => store.showAround(span) })
  }
  return <ViewBar view={view} presets={presets} />
}
