import type { SpreadJson } from '@priorbook/sdk/client'
import { showClock, showPrice } from '../app/show.ts'
import { alignDecimals, groupDigits, printCount, printDecimal } from '../model/decimal.ts'
import { nameOf, sortEdges } from '../model/edge.ts'
import { roundDecimal } from '../model/exact.ts'
import { microsOf, printSpan } from '../model/time.ts'
import type { CompareHistory } from '../session/compare-history.ts'
import { NetPrice } from './net-price.tsx'
import { VenueTag } from './words.tsx'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'

const SHOWN = 40
const FIGURES = ['Edge', 'Lasted', 'Shares', 'Buy Yes', 'Buy No'] as const
type Column = 'Best moment' | (typeof FIGURES)[number] | 'Ended by'

// Only for the order of rows.
function keyOf(row: SpreadJson, column: Column): string | number {
  switch (column) {
    case 'Best moment':
      return microsOf(row.best_time)
    case 'Edge':
      return Number(row.best_edge)
    case 'Lasted':
      return microsOf(row.end_time) - microsOf(row.start_time)
    case 'Shares':
      return Number(row.fillable_size)
    case 'Buy Yes':
      return Number(row.yes.price)
    case 'Buy No':
      return Number(row.no.price)
    case 'Ended by':
      return ENDS[row.ended_by]
  }
}

/** The largest edges of the window; each leads to its best moment. */
export function EdgeTable({ history }: { readonly history: CompareHistory }) {
  const all = history.spans.value
  const { sorted, head } = useOrder(sortEdges(all), keyOf)
  if (!history.isLoaded.value) return <p class="quiet">Loading…</p>
  if (all.length === 0) {
    return <p class="quiet">The venues have not disagreed by more than the fees so far.</p>
  }
  const rows = sorted.slice(0, SHOWN)
  const shares = alignDecimals(
    rows.map(({ fillable_size: size }) => roundDecimal(printDecimal(size), 2, 'down')),
  )
  const { column, isDown } = head('Edge').order
  const isLargest = column === undefined || (column === 'Edge' && isDown)
  return (
    <>
      <p class="quiet">
        {printCount(all.length)}
        {history.hasMoreSpans.value ? ' and more' : ''} {all.length === 1 ? 'time' : 'times'} Yes on
        one venue and No on another cost less than the 1 that one of them pays, after fees
        {all.length <= SHOWN ? ':' : isLargest ? `. The ${SHOWN} largest:` : `. ${SHOWN} of them:`}
      </p>
      <ScrollBox label="Edges" class="edges-scroll">
        <table class="edges">
          <thead>
            <tr>
              <SortHead {...head('Best moment')} />
              {FIGURES.map((name) => (
                <SortHead key={name} {...head(name)} class="num" />
              ))}
              <SortHead {...head('Ended by')} />
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <EdgeRow
                key={`${nameOf(row)} ${row.start_time}`}
                row={row}
                shares={shares[index]!}
                onPick={(time) => history.session.seek(time)}
              />
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </>
  )
}

function EdgeRow(props: {
  readonly row: SpreadJson
  readonly shares: string
  readonly onPick: (time: number) => void
}) {
  const { row, shares, onPick } = props
  const { yes, no } = row
  const best = microsOf(row.best_time)
  return (
    <tr>
      <td>
        <button type="button" class="link" onClick={() => onPick(best)}>
          {showClock(best)}
        </button>
      </td>
      <td class="num">
        <NetPrice price={row.best_edge} way="down" />
      </td>
      <td class="num">{lastedOf(row)}</td>
      <td class="num" title={printDecimal(row.fillable_size)}>
        {groupDigits(shares)}
      </td>
      <td class="num">
        {showPrice(yes.price)} <VenueTag venue={yes.venue} />
      </td>
      <td class="num">
        {showPrice(no.price)} <VenueTag venue={no.venue} />
      </td>
      <td>{ENDS[row.ended_by]}</td>
    </tr>
  )
}

// Many edges last for less than a millisecond.
function lastedOf({ start_time: start, end_time: end }: SpreadJson): string {
  const span = microsOf(end) - microsOf(start)
  return span < 1000 ? `${span} µs` : printSpan(span)
}

const ENDS = { edge: 'a new price', gap: 'a gap', range: 'still there' } as const
