import { useComputed } from '@preact/signals'
import { settlementFeed } from '@priorbook/sdk/domain'
import { useEffect, useMemo } from 'preact/hooks'
import { printPlace } from '../model/place.ts'
import { printReference } from '../model/reference-line.ts'
import { microsOrAbsent } from '../model/time.ts'
import type { ChartStore } from '../session/chart-store.ts'
import { ReferenceLoader, type ReferenceQuery } from '../session/reference-feed.ts'
import { PanelBox } from './panel.tsx'
import { ReferenceChart } from './reference-chart.tsx'
import { TroubleNote } from './trouble-note.tsx'
import { useWidth } from './use-size.ts'

const HEIGHT = 150

/** What a round settles on, over the span of the other charts; nothing for markets that settle otherwise. */
export function ReferencePanel({ store }: { readonly store: ChartStore }) {
  const record = store.session.record.value
  const open = microsOrAbsent(record?.open_time)
  if (record?.asset == null || record.window == null || open === undefined) return null
  const feed = settlementFeed(record.venue, { window: record.window, open })
  if (feed === undefined) return null
  return (
    <Settlement
      key={`${feed.feed} ${record.asset}`}
      store={store}
      asset={record.asset.toUpperCase()}
      {...feed}
    />
  )
}

function Settlement(props: {
  readonly store: ChartStore
  readonly asset: string
  readonly feed: string
  readonly unit: string
  readonly description: string
}) {
  const { store, asset, feed, unit, description } = props
  const { session } = store
  const { ref, width } = useWidth()
  const query = useComputed<ReferenceQuery | undefined>(() => {
    const range = store.view.settledRange.value
    if (range === undefined || !session.isLoaded.value) return undefined
    const isLive = store.view.settled.value === undefined && session.isOpen.value
    return { asset, feed, range, isLive }
  })
  const loader = useMemo(() => new ReferenceLoader(query), [store])
  useEffect(() => () => loader.close(), [loader])
  const { value: data } = loader.data
  const strike = session.record.value?.strike
  const threshold = strike == null ? undefined : Number(strike)
  const newest = data?.rows.at(-1)
  return (
    <PanelBox
      title="Reference price"
      class="reference-panel"
      calls={loader.panel.calls}
      scope={() => store.scopeOf('reference', { asset, feed })}
      tools={
        <span class="legend">
          <i class="k-s1" /> {feed} <i class="k-mid" /> strike <i class="hatch-key" /> gap
          <span>· {unit}</span>
        </span>
      }
    >
      <div class="chart" ref={ref}>
        <ReferenceChart
          store={store}
          data={data}
          strike={threshold}
          unit={unit}
          width={width}
          height={HEIGHT}
          label={`Reference price of ${asset} by ${feed} and the strike over time`}
        />
      </div>
      <p class="quiet reference-words">
        {newest === undefined
          ? data === undefined
            ? 'Loading…'
            : `No price of ${feed} was recorded in this span.`
          : wordsOf(Number(newest.price), threshold, unit)}{' '}
        {description} <a href={printPlace({ page: 'reference', asset, feed })}>All prices</a>
      </p>
      {loader.trouble.value !== undefined && <TroubleNote trouble={loader.trouble.value} />}
    </PanelBox>
  )
}

function wordsOf(price: number, strike: number | undefined, unit: string): string {
  const now = `Last ${printReference(price)} ${unit}`
  if (strike === undefined) return `${now}.`
  const away = printReference(Math.abs(price - strike), strike)
  const side = price === strike ? 'at' : `${away} ${price > strike ? 'above' : 'below'}`
  return `${now}, ${side} the strike of ${printReference(strike)}.`
}
