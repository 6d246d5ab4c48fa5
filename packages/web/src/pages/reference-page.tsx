import { computed, useComputed, useSignal, useSignalEffect, type Signal } from '@preact/signals'
import { VENUES } from '@priorbook/sdk/domain'
import type { ReferenceSeriesJson } from '@priorbook/sdk/wire'
import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { place, rewriteAddress } from '../app/router.ts'
import { useSubject } from '../app/title.ts'
import { useLoad } from '../app/use-load.ts'
import { showSeconds } from '../app/show.ts'
import { printCount } from '../model/decimal.ts'
import { printPlace } from '../model/place.ts'
import type { Range } from '../model/range.ts'
import { printReference } from '../model/reference-line.ts'
import { toSource, type ApiCall } from '../model/snippet.ts'
import { HOUR, microsOf, MINUTE } from '../model/time.ts'
import { ChartView } from '../session/chart-view.ts'
import { ReferenceLoader, type ReferenceQuery } from '../session/reference-feed.ts'
import { GapTable } from '../ui/gap-table.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { ReferenceChart } from '../ui/reference-chart.tsx'
import { EmptyNote, TroubleNote } from '../ui/trouble-note.tsx'
import { useWidth } from '../ui/use-size.ts'
import { ViewBar, type Preset } from '../ui/view-bar.tsx'
import { ScrollBox } from '../ui/scroll-box.tsx'
import { SortHead, useOrder } from '../ui/sort-head.tsx'

const LIST_MS = 10_000
const HEIGHT = 260
const SPANS = [
  ['1 h', HOUR],
  ['6 h', 6 * HOUR],
  ['24 h', 24 * HOUR],
] as const

/** The recorded series of reference prices, and one of them over time. */
export function ReferencePage(props: {
  readonly asset: string | undefined
  readonly feed: string | undefined
  readonly range: Range | undefined
}) {
  const panel = useMemo(() => createPanel(), [key.value])
  const { data, trouble } = useLoad(
    async (signal) => {
      panel.note('reference')
      return (await panel.client.reference({}, { signal })).data
    },
    [panel],
    LIST_MS,
  )
  useSubject(props.asset === undefined ? undefined : `${props.asset} reference price`)
  const chosen = data === undefined ? undefined : chooseSeries(data, props)
  return (
    <main id="main" class="page reference-page" data-loaded={data === undefined ? 'no' : 'yes'}>
      <div class="page-head">
        <h1>Reference prices</h1>
        <p class="quiet">What crypto rounds settle on, as the venues’ feeds said it.</p>
      </div>
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {data !== undefined && data.length === 0 && (
        <EmptyNote
          title="No reference price has been recorded"
          text="A recorder follows the feeds of its venues unless its settings turn them off."
        />
      )}
      {chosen !== undefined && (
        <SeriesChart
          key={`${key.value} ${chosen.venue} ${chosen.feed} ${chosen.asset}`}
          series={chosen}
          range={props.range}
        />
      )}
      {data !== undefined && data.length > 0 && (
        <PanelBox title="Series" calls={panel.calls} count={data.length}>
          <SeriesTable series={data} chosen={chosen} />
        </PanelBox>
      )}
    </main>
  )
}

/** The series that an address names, or else the first of its asset, or of all. */
function chooseSeries(
  series: readonly ReferenceSeriesJson[],
  named: { readonly asset: string | undefined; readonly feed: string | undefined },
): ReferenceSeriesJson | undefined {
  const asset = named.asset?.toUpperCase()
  const own = asset === undefined ? series : series.filter((one) => one.asset === asset)
  return own.find(({ feed }) => feed === named.feed) ?? own[0] ?? series[0]
}

type Column = 'Asset' | 'Feed' | 'First' | 'Newest' | 'Prices'

function seriesKey(series: ReferenceSeriesJson, column: Column): string | number {
  switch (column) {
    case 'Asset':
      return series.asset
    case 'Feed':
      return series.feed
    case 'First':
      return microsOf(series.first_time)
    case 'Newest':
      return microsOf(series.last_time)
    case 'Prices':
      return series.prices
  }
}

function SeriesTable(props: {
  readonly series: readonly ReferenceSeriesJson[]
  readonly chosen: ReferenceSeriesJson | undefined
}) {
  const { sorted, head } = useOrder(props.series, seriesKey)
  return (
    <ScrollBox label="Series">
      <table class="reference-table">
        <thead>
          <tr>
            <SortHead {...head('Asset')} />
            <SortHead {...head('Feed')} />
            <th scope="col">What it is</th>
            <SortHead {...head('First')} />
            <SortHead {...head('Newest')} />
            <SortHead {...head('Prices')} class="num" />
            <th scope="col">Gap</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((one) => (
            <tr key={one.key} class={one === props.chosen ? 'chosen' : ''}>
              <td>{one.asset}</td>
              <td>
                <a
                  href={printPlace({ page: 'reference', asset: one.asset, feed: one.feed })}
                  aria-label={`${one.asset} by ${one.feed}`}
                  {...(one === props.chosen ? { 'aria-current': 'true' as const } : {})}
                >
                  {one.feed}
                </a>{' '}
                <span class="quiet">{VENUES[one.venue].label}</span>
              </td>
              <td>{one.description}</td>
              <td>{showSeconds(microsOf(one.first_time))}</td>
              <td>{showSeconds(microsOf(one.last_time))}</td>
              <td class="num">{printCount(one.prices)}</td>
              <td>{one.open_gap === null ? 'none open' : one.open_gap.replaceAll('_', ' ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function SeriesChart(props: {
  readonly series: ReferenceSeriesJson
  readonly range: Range | undefined
}) {
  const { series } = props
  const { asset, feed, unit, description } = series
  const { view, last } = useSeriesView(series, props.range)
  const query = useComputed<ReferenceQuery | undefined>(() => {
    const range = view.settledRange.value
    return range === undefined ? undefined : { asset, feed, range, isLive: false }
  })
  const address = useSeriesAddress(view, asset, feed)
  const loader = useMemo(() => new ReferenceLoader(query), [])
  useEffect(
    () => () => {
      loader.close()
      view.close()
    },
    [loader],
  )
  useEffect(() => {
    const sampled = { step: loader.data.value?.step ?? 1, last: last.value }
    view.sampled.value = sampled
  })
  const gapCalls = useComputed(() => gapCallsOf(series, loader))
  const { ref, width } = useWidth()
  const { value: data } = loader.data
  const newest = data?.rows.at(-1)
  return (
    <>
      <ViewBar
        view={view}
        presets={presetsOf(view, last)}
        link={() => location.origin + printPlace(address(view.zoom.peek()))}
      />
      <PanelBox
        title={`${asset} by ${feed}`}
        calls={loader.panel.calls}
        tools={<Legend feed={feed} unit={unit} />}
        scope={() => ({
          params: { venue: series.venue, dataset: 'reference', asset, feed },
          shown: view.range.peek(),
          all: { from: microsOf(series.first_time), to: microsOf(series.last_time) },
        })}
      >
        <div class="chart" ref={ref}>
          <ReferenceChart
            store={{ view }}
            data={data}
            unit={unit}
            width={width}
            height={HEIGHT}
            label={`Reference price of ${asset} by ${feed} over time`}
          />
        </div>
        <p class="quiet">
          {newest !== undefined && `Newest ${printReference(Number(newest.price))} ${unit}. `}
          {description}
        </p>
        {loader.trouble.value !== undefined && <TroubleNote trouble={loader.trouble.value} />}
      </PanelBox>
      <PanelBox title="Gaps in this span" calls={gapCalls}>
        <GapTable gaps={data?.gaps ?? []} now={last.value} />
      </PanelBox>
    </>
  )
}

// The list of gaps comes with the prices; alone it is this request.
function gapCallsOf(series: ReferenceSeriesJson, loader: ReferenceLoader): readonly ApiCall[] {
  const [prices] = loader.panel.calls.value
  const range = loader.data.value?.query.range
  if (prices === undefined || range === undefined) return []
  const params = {
    venue: series.venue,
    key: `reference/${series.feed}/${series.asset}`,
    start_time: Math.round(range.from),
    end_time: Math.round(range.to) + 1,
  }
  const url = new URL(prices.url.replace(/\/reference\/.*$/, '/gaps'))
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value))
  return [{ url: url.href, code: `client.gaps(${toSource(params)})` }]
}

// The span of a series: its last hour at first, and no more than was recorded.
function useSeriesView(series: ReferenceSeriesJson, range: Range | undefined) {
  const last = useSignal(0)
  const first = useSignal(0)
  last.value = microsOf(series.last_time)
  first.value = microsOf(series.first_time)
  const view = useMemo(() => {
    // At least a minute, and nothing from before the first price.
    const spanOf = (span: number): Range => ({
      from: Math.min(last.value - MINUTE, Math.max(first.value, last.value - span)),
      to: last.value,
    })
    return new ChartView(
      computed(() => spanOf(HOUR)),
      computed(() => spanOf(Infinity)),
      range,
    )
  }, [])
  return { view, last }
}

// The address names the span that the visitor chose, so that it can be shared.
function useSeriesAddress(view: ChartView, asset: string, feed: string) {
  const address = (range: Range | undefined) => ({ page: 'reference', asset, feed, range }) as const
  useSignalEffect(() => {
    const range = view.settled.value
    const here = place.peek()
    // The first series may be shown without being named.
    if (range !== undefined) rewriteAddress(address(range))
    else if (here.page === 'reference') rewriteAddress({ ...here, range })
  })
  return address
}

function presetsOf(view: ChartView, last: Signal<number>): readonly Preset[] {
  return SPANS.map(([name, length]) => ({
    name,
    isShown:
      view.zoom.value === undefined
        ? length === HOUR
        : view.zoom.value.to - view.zoom.value.from === length,
    show: () =>
      view.show(length === HOUR ? undefined : { from: last.peek() - length, to: last.peek() }),
  }))
}

function Legend({ feed, unit }: { readonly feed: string; readonly unit: string }) {
  return (
    <span class="legend">
      <i class="k-s1" /> {feed} <i class="hatch-key" /> gap <span>· {unit}</span>
    </span>
  )
}
