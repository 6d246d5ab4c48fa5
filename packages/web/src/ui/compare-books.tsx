import type { ContractBooksJson, ContractWithTermsJson, LadderJson } from '@priorbook/sdk/client'
import { isMarketState, VENUES } from '@priorbook/sdk/domain'
import { showClock, showExact, showLevel, zoneName } from '../app/show.ts'
import { groupDigits, mostPlaces, padDecimal, printDecimal } from '../model/decimal.ts'
import { gapSentence } from '../model/gap.ts'
import { microsOf, microsOrAbsent, printSpan } from '../model/time.ts'
import type { CompareSession } from '../session/compare-session.ts'
import { MemberKey } from './compare-chart.tsx'
import { LADDER_ROW } from './ladder-writer.ts'
import { VenueTag } from './words.tsx'

type MemberBook = ContractBooksJson['members'][number]

/** Levels of each side; the page of the market has all of them. */
export const BOOK_DEPTH = 8

/** The books of all members at one instant, in terms of Yes. */
export function CompareBooks(props: {
  readonly session: CompareSession
  readonly contract: ContractWithTermsJson
}) {
  const { session, contract } = props
  const shown = session.shown.value
  if (shown === undefined) return <p class="quiet">Loading…</p>
  return (
    <div class="compare-books" data-at={shown.at}>
      {shown.books.members.map((book, place) => (
        <section
          key={`${book.venue} ${book.market_id}`}
          class="cbook"
          data-venue={book.venue}
          data-row={book.row_id ?? ''}
          aria-label={`Book of ${VENUES[book.venue].label}`}
        >
          <h3>
            <MemberKey members={contract.members} place={place} />
            <VenueTag venue={book.venue} /> {book.outcome ?? 'Yes'}
            {book.is_complement && (
              <span class="hint" title="One book, seen from the other outcome">
                1 − p
              </span>
            )}
          </h3>
          {book.reason === null && book.bids !== null && book.asks !== null ? (
            <BookLevels bids={book.bids} asks={book.asks} book={book} />
          ) : (
            <NoBook book={book} />
          )}
        </section>
      ))}
    </div>
  )
}

function BookLevels(props: {
  readonly bids: LadderJson
  readonly asks: LadderJson
  readonly book: MemberBook
}) {
  const { bids, asks, book } = props
  const places = (values: LadderJson['price']): number => mostPlaces(values.map(String))
  const style = {
    price: Math.max(2, places(bids.price), places(asks.price)),
    size: Math.max(places(bids.size), places(asks.size)),
    // Only for the length of the bars.
    most: Math.max(1e-9, ...[...bids.size, ...asks.size].map(Number)),
  }
  const received = microsOrAbsent(book.received_time)
  return (
    <>
      <Side side="ask" ladder={asks} style={style} />
      <div class="cbook-middle" />
      <Side side="bid" ladder={bids} style={style} />
      <p class="ladder-foot">
        {received !== undefined && (
          <span title={`received ${showExact(received)} ${zoneName(received)}`}>
            {showClock(received)}
          </span>
        )}{' '}
        · <span>{book.age_ms === null ? '–' : printSpan(Number(book.age_ms) * 1000)} old</span>
      </p>
    </>
  )
}

type LevelStyle = { readonly price: number; readonly size: number; readonly most: number }

function Side(props: {
  readonly side: 'ask' | 'bid'
  readonly ladder: LadderJson
  readonly style: LevelStyle
}) {
  const { side, ladder, style } = props
  const levels = ladder.price.map((price, index) => ({
    price: showLevel(printDecimal(price), style.price),
    size: padDecimal(printDecimal(ladder.size[index]), style.size),
    part: Number(ladder.size[index]) / style.most,
  }))
  // The best prices of both sides are next to each other.
  const rows = side === 'ask' ? levels.toReversed() : levels
  return (
    <ol
      class={`levels ${side}s`}
      aria-label={`${side}s`}
      style={{ height: `${LADDER_ROW * BOOK_DEPTH}px` }}
    >
      {side === 'ask' &&
        Array.from({ length: BOOK_DEPTH - rows.length }, (_, index) => (
          <li key={`empty ${index}`} class="no-level" aria-hidden="true" />
        ))}
      {rows.map(({ price, size, part }) => (
        <li key={price} style={{ backgroundSize: `${Math.round(part * 1000) / 10}% 17px` }}>
          <span class="price">{price}</span>
          <span class="size">{groupDigits(size)}</span>
        </li>
      ))}
    </ol>
  )
}

function NoBook({ book }: { readonly book: MemberBook }) {
  const { reason } = book
  if (reason === null) return <div class="no-book">No book at this instant.</div>
  const { gap } = reason
  if (gap === null || isMarketState(gap.reason)) {
    return (
      <div class="no-book" role="status">
        <strong>No book at this instant</strong>
        <p>{reason.message}</p>
      </div>
    )
  }
  const end = microsOrAbsent(gap.end_time)
  return (
    <div class="no-book gap-book" role="status">
      <strong>Gap: {gap.reason.replaceAll('_', ' ')}</strong>
      <p>
        {gapSentence(gap.reason)} It began {showClock(microsOf(gap.start_time))}.{' '}
        {end === undefined ? 'It is still open.' : `It ends ${showClock(end)}.`}
      </p>
    </div>
  )
}
