import { isMarketState } from '@priorbook/sdk/domain'
import { showSeconds } from '../app/show.ts'
import { gapSentence, type GapSpan } from '../model/gap.ts'
import { printSpan } from '../model/time.ts'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'

type Column = 'Reason' | 'From (last good)' | 'To (first good)' | 'Length'

/** What was lost, with reason and bounds; a click shows the instant before a gap. */
export function GapTable(props: {
  readonly gaps: readonly GapSpan[]
  readonly now: number
  readonly onPick?: (time: number) => void
}) {
  const { now, onPick } = props
  const lost = props.gaps.filter(({ reason }) => !isMarketState(reason))
  const { sorted: gaps, head } = useOrder(lost, (gap, column: Column) => keyOf(gap, column, now))
  if (gaps.length === 0) return <p class="quiet">No gaps in the recording.</p>
  return (
    <ScrollBox label="Gaps">
      <table class="gap-table">
        <thead>
          <tr>
            <SortHead {...head('Reason')} />
            <SortHead {...head('From (last good)')} />
            <SortHead {...head('To (first good)')} />
            <SortHead {...head('Length')} class="num" />
          </tr>
        </thead>
        <tbody>
          {gaps.map((gap) => (
            <tr key={`${gap.start} ${gap.reason} ${gap.scope}`}>
              <td title={gapSentence(gap.reason)}>
                <span class="hatch-key" aria-hidden="true" /> {gap.reason.replaceAll('_', ' ')}
                {gap.scope !== 'instrument' && <span class="quiet"> · whole {gap.scope}</span>}
              </td>
              <td>
                {onPick === undefined ? (
                  showSeconds(gap.start).slice(5)
                ) : (
                  <button type="button" class="link" onClick={() => onPick(gap.start)}>
                    {showSeconds(gap.start).slice(5)}
                  </button>
                )}
              </td>
              <td>{gap.end === undefined ? 'open' : showSeconds(gap.end).slice(5)}</td>
              <td class="num">{printSpan(lengthOf(gap, now))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function keyOf(gap: GapSpan, column: Column, now: number): string | number | undefined {
  switch (column) {
    case 'Reason':
      return gap.reason
    case 'From (last good)':
      return gap.start
    case 'To (first good)':
      return gap.end
    case 'Length':
      return lengthOf(gap, now)
  }
}

function lengthOf({ start, end }: GapSpan, now: number): number {
  return (end ?? Math.max(now, start)) - start
}
