import { useComputed } from '@preact/signals'
import { useCallback } from 'preact/hooks'
import type uPlot from 'uplot'
import { showClock, showPrice } from '../app/show.ts'
import { METRICS, type ChartStore } from '../session/chart-store.ts'
import { toSampleLines } from '../model/samples.ts'
import { LineChart } from './line-chart.tsx'
import type { LineStyle } from './plot.ts'
import { PanelBox } from './panel.tsx'

const LINES: readonly LineStyle[] = [
  { label: 'chance', stroke: 'sample-1' },
  { label: 'price', stroke: 'sample-2', dash: [6, 3] },
  { label: 'last_trade', stroke: 'sample-3', dash: [2, 3], width: 1.75 },
]

const INTERRUPTIONS: ReadonlySet<string> = new Set(['recorder_down', 'disk_full'])

/** The sampled metrics, each a line of its own; they are never merged. */
export function SamplesPanel({ store }: { readonly store: ChartStore }) {
  const data = useComputed<uPlot.AlignedData>(() => {
    const lines = METRICS.map((metric) => store.samples.value[metric])
    // Gaps of single books do not concern samples, only those of the recorder do.
    const breaks = store.gaps.value.filter(({ reason }) => INTERRUPTIONS.has(reason))
    return toSampleLines(
      lines,
      breaks.map(({ start }) => start + 1),
    ) as uPlot.AlignedData
  })
  const values = useCallback((time: number) => sampledAt(store, time), [store])
  return (
    <PanelBox
      title="Samples"
      calls={store.samplesPanel.calls}
      scope={() => ({ ...store.scopeOf('samples'), metrics: METRICS })}
      tools={
        <span class="legend">
          <i class="k-s1" /> chance <i class="k-s2" /> price <i class="k-s3" /> last trade
        </span>
      }
    >
      <LineChart
        store={store}
        data={data}
        lines={LINES}
        height={150}
        values={values}
        label="Chance, price and last trade as the venue reported them"
      />
    </PanelBox>
  )
}

// The newest sample of each metric at or before an instant.
function sampledAt(store: ChartStore, time: number): string {
  const values = METRICS.map((metric) => {
    const line = store.samples.peek()[metric]
    const index = (line?.time ?? []).findLastIndex((one) => one <= time)
    return `${metric.replace('_', ' ')} ${showPrice(line?.text[index])}`
  })
  return [showClock(time), ...values].join(' · ')
}
