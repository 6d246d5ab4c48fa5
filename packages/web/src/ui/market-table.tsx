import type { ListedMarketJson } from '@priorbook/sdk/client'
import { hasTradingEnded } from '@priorbook/sdk/domain'
import { particularOf } from '@priorbook/sdk/wire'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { showPrice, showSeconds, zoneName } from '../app/show.ts'
import { printPlace } from '../model/place.ts'
import { coverageBar } from '../model/market-sort.ts'
import { printCount, printDecimal, printShort } from '../model/decimal.ts'
import { microsOrAbsent, printSpan } from '../model/time.ts'
import type { ListQuotes, Quote } from '../session/list-quotes.ts'
import { nameOf } from '../session/list-quotes.ts'
import { useSeconds } from './use-seconds.ts'
import { StatusWord, VenueTag } from './words.tsx'

// Rows rendered beyond each edge of the window.
const EXTRA = 8

// The heads of columns, with the orders that the list of markets has.
const HEADS: readonly (readonly [name: string, sort?: string])[] = [
  ['Market', 'open_time'],
  ['Status'],
  ['Bid'],
  ['Ask'],
  ['Spread'],
  ['Last'],
  ['Volume', 'volume'],
  ['Closes', 'close_time'],
  ['Recorded', ''],
]

/** A table of any length: only the visible rows are in the DOM. */
export function MarketTable(props: {
  readonly rows: readonly ListedMarketJson[]
  readonly quotes: ListQuotes
  readonly hasMore: boolean
  readonly onEnd: () => void
  /** The order of the rows, where it can be changed. */
  readonly sort?: { readonly value: string; readonly onChange: (sort: string) => void }
}) {
  const { rows, quotes, hasMore, onEnd, sort } = props
  const body = useRef<HTMLDivElement>(null)
  const view = useVisibleRows(body)
  const now = useSeconds()
  const shown = rows.slice(view.from, view.to)
  useEffect(() => quotes.show(shown.slice(0, 60)), [shown.map(nameOf).join(' ')])
  useEffect(() => {
    if (hasMore && view.to >= rows.length - 50) onEnd()
  }, [view.to, rows.length, hasMore])

  const live = quotes.quotes.value
  return (
    <div class="market-table" role="table" aria-label="Markets" aria-rowcount={rows.length + 1}>
      <div role="rowgroup">
        <div class="mrow mhead" role="row" aria-rowindex={1}>
          {HEADS.map(([name, by]) => {
            const isSorted = by !== undefined && sort?.value === by
            const way = isSorted ? (by === 'close_time' ? 'ascending' : 'descending') : undefined
            return (
              <span role="columnheader" key={name} {...(way && { 'aria-sort': way })}>
                {by === undefined || sort === undefined ? (
                  name
                ) : (
                  <button type="button" class="sort" onClick={() => sort.onChange(by)}>
                    {name}
                    <span aria-hidden="true">
                      {isSorted ? (by === 'close_time' ? ' ▴' : ' ▾') : ''}
                    </span>
                  </button>
                )}
              </span>
            )
          })}
        </div>
      </div>
      <div
        ref={body}
        role="rowgroup"
        class="mbody"
        style={{ height: `${rows.length * view.height}px` }}
      >
        {shown.map((row, index) => (
          <MarketRow
            key={nameOf(row)}
            row={row}
            quote={live.get(nameOf(row))}
            index={view.from + index}
            height={view.height}
            now={now}
          />
        ))}
      </div>
    </div>
  )
}

// Finds the rows inside the window, with some extra ones above and below.
function useVisibleRows(body: { readonly current: HTMLElement | null }) {
  const [view, setView] = useState({ from: 0, to: 30, height: 46 })
  useLayoutEffect(() => {
    const measure = (): void => {
      const element = body.current
      if (element === null) return
      const height = innerWidth < 720 ? 74 : 42
      const top = -element.getBoundingClientRect().top
      const from = Math.max(0, Math.floor(top / height) - EXTRA)
      const to = Math.ceil((top + innerHeight) / height) + EXTRA
      setView((before) =>
        before.from === from && before.to === to && before.height === height
          ? before
          : { from, to, height },
      )
    }
    measure()
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure)
    return () => {
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
    }
  }, [])
  return view
}

function MarketRow(props: {
  readonly row: ListedMarketJson
  readonly quote: Quote | undefined
  readonly index: number
  readonly height: number
  readonly now: number
}) {
  const { row, quote, index, height, now } = props
  const { venue, market_id: marketId } = row
  const close = microsOrAbsent(row.close_time)
  const particular = particularOf(row)
  const { status, winner, bid, ask, spread, last } = stateOf(row, quote)
  return (
    <div
      class="mrow"
      role="row"
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
    >
      <span role="cell" class="mtitle">
        <VenueTag venue={venue} />
        <a href={printPlace({ page: 'market', venue, marketId, time: undefined })}>
          <span class="mname">{row.title ?? marketId}</span>
          <span class="mid">
            {particular !== undefined && <em class="particular">{particular} · </em>}
            {marketId}
          </span>
        </a>
      </span>
      <span role="cell">
        <StatusWord status={status} /> {winner !== null && <span class="winner">{winner}</span>}
      </span>
      <span role="cell" class="num bid">
        <b>Bid </b>
        {showPrice(bid)}
      </span>
      <span role="cell" class="num ask">
        <b>Ask </b>
        {showPrice(ask)}
      </span>
      <span role="cell" class="num">
        <b>Spread </b>
        {showPrice(spread)}
      </span>
      <span role="cell" class="num">
        <b>Last </b>
        {showPrice(last)}
      </span>
      <span role="cell" class="num volume">
        {row.volume === null ? '–' : printShort(printDecimal(row.volume))}
      </span>
      <span
        role="cell"
        class="num closes"
        title={close === undefined ? '' : `${showSeconds(close)} ${zoneName(close)}`}
      >
        {close === undefined
          ? '–'
          : close > now
            ? `in ${printSpan(close - now)}`
            : showSeconds(close).slice(5, 16)}
      </span>
      <span role="cell" class="recorded">
        <CoverageBar row={row} now={now} />
      </span>
    </div>
  )
}

// The last book of a market that has ended offers nothing any more.
function stateOf(row: ListedMarketJson, quote: Quote | undefined) {
  const status = quote?.status ?? row.status
  const isOver = hasTradingEnded(status)
  return {
    status,
    winner: quote?.winner ?? row.winning_outcome,
    bid: isOver ? null : quote === undefined ? row.best_bid : quote.bid,
    ask: isOver ? null : quote === undefined ? row.best_ask : quote.ask,
    spread: isOver ? null : quote === undefined ? row.spread : quote.spread,
    last: quote?.last ?? row.last_price,
  }
}

function CoverageBar({ row, now }: { readonly row: ListedMarketJson; readonly now: number }) {
  const bar = coverageBar(row, now)
  const { observations, gaps } = row.coverage
  const label =
    bar === undefined
      ? 'no book recorded'
      : `${printCount(observations)} books, ${gaps} ${gaps === 1 ? 'gap' : 'gaps'}`
  return (
    <span class="cover" title={label}>
      <span class="cover-bar" aria-hidden="true">
        {bar !== undefined && (
          <i
            style={{
              left: `${bar.from * 100}%`,
              width: `${Math.max(1.5, (bar.to - bar.from) * 100)}%`,
            }}
          />
        )}
      </span>
      <span class="cover-text">
        {bar === undefined ? 'nothing' : printShort(String(observations))}
        {gaps > 0 && <em> {gaps} ▨</em>}
      </span>
      <span class="sr">{label}</span>
    </span>
  )
}
