import { isMarketState } from '@priorbook/sdk/domain'
import { showSeconds } from '../app/show.ts'
import { gapSentence, type GapSpan } from '../model/gap.ts'
import { printSpan } from '../model/time.ts'
import { ScrollBox } from './scroll-box.tsx'

/** What was lost, with reason and bounds; a click shows the instant before a gap. */
export function GapTable(props: {
  readonly gaps: readonly GapSpan[]
  readonly now: number
  readonly onPick?: (time: number) => void
}) {
  const { now, onPick } = props
  const gaps = props.gaps.filter(({ reason }) => !isMarketState(reason))
  if (gaps.length === 0) return <p class="quiet">No gaps in the recording.</p>
  return (
    <ScrollBox label="Gaps">
      <table class="gap-table">
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <th scope="col">From (last good)</th>
            <th scope="col">To (first good)</th>
            <th scope="col" class="num">
              Length
            </th>
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
              <td class="num">{printSpan((gap.end ?? Math.max(now, gap.start)) - gap.start)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
