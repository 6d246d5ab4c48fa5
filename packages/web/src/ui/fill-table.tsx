import { useState } from 'preact/hooks'
import { printCount } from '../model/decimal.ts'
import { printPlace } from '../model/place.ts'
import type { ReportFill, ReportMarket } from '../model/report-view.ts'
import { printExact } from '../model/time.ts'

// Rows that are added at a time: a report may hold fifty thousand fills.
const STEP = 100
const HEADS = [
  'Fill',
  'Time (UTC)',
  'Side',
  'Outcome',
  'Price',
  'Size',
  'Fee',
  'As',
  'Evidence',
  '',
]
const NUMBERS = new Set(['Fill', 'Price', 'Size', 'Fee'])

/** The fills of one market of a report, each with a link to the book of its instant. */
export function FillTable(props: {
  readonly market: ReportMarket
  readonly selected: ReportFill | undefined
  readonly onPick: (fill: ReportFill) => void
}) {
  const { market, selected, onPick } = props
  const { fills } = market
  const marked = selected === undefined ? -1 : fills.indexOf(selected)
  const [shown, setShown] = useState(STEP)
  const count = Math.min(fills.length, Math.max(shown, marked + 1))
  return (
    <>
      <div class="table-scroll fill-table" tabIndex={0} role="group" aria-label="Fills">
        <table>
          <thead>
            <tr>
              {HEADS.map((name) => (
                <th key={name} scope="col" class={NUMBERS.has(name) ? 'num' : ''}>
                  {name === '' ? <span class="sr">Book</span> : name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {fills.slice(0, count).map((fill) => (
              <FillRow
                key={fill.id}
                market={market}
                fill={fill}
                isSelected={fill === selected}
                onPick={onPick}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet">
        {printCount(count)} of {printCount(fills.length)} fills{' '}
        {count < fills.length && (
          <button type="button" class="plain" onClick={() => setShown(count + STEP)}>
            Show {Math.min(STEP, fills.length - count)} more
          </button>
        )}
      </p>
    </>
  )
}

function FillRow(props: {
  readonly market: ReportMarket
  readonly fill: ReportFill
  readonly isSelected: boolean
  readonly onPick: (fill: ReportFill) => void
}) {
  const { fill, isSelected, onPick, market } = props
  const { venue, marketId } = market
  const href = printPlace({ page: 'market', venue, marketId, time: fill.at })
  return (
    <tr class={isSelected ? 'selected' : ''} aria-selected={isSelected}>
      <td class="num">
        <button
          type="button"
          class="plain"
          aria-label={`Mark fill ${fill.id}`}
          onClick={() => onPick(fill)}
        >
          {fill.id}
        </button>
      </td>
      <td>{printExact(fill.at)}</td>
      <td class={fill.side === 'buy' ? 'bid' : 'ask'}>{fill.side}</td>
      <td>{fill.outcome === 0 ? 'first' : 'second'}</td>
      <td class="num">{fill.price / 10_000}</td>
      <td class="num">{fill.size}</td>
      <td class="num">{fill.fee}</td>
      <td>{fill.liquidity}</td>
      <td>{fill.evidence.replaceAll('_', ' ')}</td>
      <td>
        <a href={href} aria-label={`Book at fill ${fill.id}`}>
          Book
        </a>
      </td>
    </tr>
  )
}
