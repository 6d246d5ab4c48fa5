import type { ContractJson } from '@priorbook/sdk/client'
import { useEffect, useRef } from 'preact/hooks'
import { showSeconds, zoneName } from '../app/show.ts'
import { USUAL_SIZE } from '../model/compare-view.ts'
import { subjectOf, windowOf, winnerOf } from '../model/contract-words.ts'
import { printPlace } from '../model/place.ts'
import { microsOrAbsent, printSpan } from '../model/time.ts'
import type { ContractQuote } from '../session/contract-instant.ts'
import type { ContractQuotes } from '../session/contract-quotes.ts'
import { EdgeFigure, NetPrice } from './net-price.tsx'
import { SortHead, useOrder } from './sort-head.tsx'
import { useSeconds } from './use-seconds.ts'
import { StatusWord, VenueTag } from './words.tsx'

type Column = 'Contract' | 'Status' | 'Closes' | 'Members' | 'Net bid' | 'Net ask' | 'Edge now'

// Only for the order of rows; a contract without a price comes last.
function keyOf(
  row: ContractJson,
  quote: Partial<ContractQuote> | undefined,
  column: Column,
): string | number | undefined {
  switch (column) {
    case 'Contract':
      return subjectOf(row)
    case 'Status':
      return row.status
    case 'Closes':
      return microsOrAbsent(row.closes)
    case 'Members':
      return row.members.length
    case 'Net bid':
      return quote?.bid && Number(quote.bid.price)
    case 'Net ask':
      return quote?.ask && Number(quote.ask.price)
    case 'Edge now':
      return quote?.edge && Number(quote.edge.best_edge)
  }
}

/** Contracts with their members, the best prices after fees and the edge of now. */
export function ContractTable(props: {
  readonly rows: readonly ContractJson[]
  readonly quotes: ContractQuotes
}) {
  const { rows, quotes } = props
  const now = useSeconds()
  const known = quotes.quotes.value
  const { sorted, head } = useOrder(rows, (row, column: Column) =>
    keyOf(row, known.get(row.id), column),
  )
  return (
    <div class="panel contracts-panel">
      <table class="contracts">
        <thead>
          <tr>
            <SortHead {...head('Contract')} />
            <SortHead {...head('Status')} />
            <th scope="col">Window (UTC)</th>
            <SortHead {...head('Closes')} class="num" />
            <SortHead {...head('Members')} />
            <SortHead {...head('Net bid')} class="num" />
            <SortHead {...head('Net ask')} class="num" />
            <SortHead {...head('Edge now')} class="num" />
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <ContractRow
              key={row.id}
              row={row}
              quote={known.get(row.id)}
              quotes={quotes}
              now={now}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function ContractRow(props: {
  readonly row: ContractJson
  readonly quote: Partial<ContractQuote> | undefined
  readonly quotes: ContractQuotes
  readonly now: number
}) {
  const { row, quotes, now } = props
  const closes = microsOrAbsent(row.closes)
  const isOver = closes !== undefined && closes <= now
  const isLive = row.status === 'open' && !isOver
  const ref = useInView((isSeen) => quotes.show(row.id, isSeen && isLive), [row.id, isLive])
  // What was offered before the close cannot be traded any more.
  const quote = isLive ? props.quote : undefined
  const winner = winnerOf(row)
  const href = printPlace({
    page: 'contract',
    contractId: row.id,
    time: undefined,
    side: 'buy',
    size: USUAL_SIZE,
    lines: 'quotes',
  })
  return (
    <tr ref={ref} data-id={row.id} class={isLive ? '' : 'idle'}>
      <th scope="row">
        <a href={href}>
          <span class="mname">{subjectOf(row)}</span>
          <span class="mid">{row.id}</span>
        </a>
      </th>
      <td data-head="Status">
        <StatusWord status={isOver && row.status === 'open' ? 'closed' : row.status} />{' '}
        {winner !== undefined && <span class="winner">{winner}</span>}
      </td>
      <td data-head="Window" class="window">
        {windowOf(row)}
      </td>
      <td
        data-head="Closes"
        class="num"
        title={closes === undefined ? '' : `${showSeconds(closes)} ${zoneName(closes)}`}
      >
        {closes === undefined ? '–' : isOver ? 'ended' : `in ${printSpan(closes - now)}`}
      </td>
      <td data-head="Members" class="tags">
        {row.members.map(({ venue, market_id: id }) => (
          <VenueTag key={`${venue} ${id}`} venue={venue} />
        ))}
      </td>
      <td data-head="Net bid" class="num bid">
        <NetPrice price={quote?.bid?.price} venue={quote?.bid?.venue} way="down" />
      </td>
      <td data-head="Net ask" class="num ask">
        <NetPrice price={quote?.ask?.price} venue={quote?.ask?.venue} way="up" />
      </td>
      <td data-head="Edge now" class="num">
        {quote === undefined ? '–' : <EdgeFigure edge={quote.edge} />}
      </td>
    </tr>
  )
}

// Tells whether an element is on the screen, or close to it.
function useInView(onChange: (isSeen: boolean) => void, dependencies: readonly unknown[]) {
  const ref = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    const watch = new IntersectionObserver(
      (entries) => onChange(entries.at(-1)?.isIntersecting === true),
      { rootMargin: '100px' },
    )
    watch.observe(ref.current!)
    return () => {
      watch.disconnect()
      onChange(false)
    }
  }, dependencies)
  return ref
}
