import { useSignal, useSignalEffect } from '@preact/signals'
import { useRef, useState } from 'preact/hooks'
import { complementOf, quoteOf, type Book } from '../model/book.ts'
import { groupDigits, padDecimal, placesOf, printTicks } from '../model/decimal.ts'
import { gapSentence } from '../model/gap.ts'
import { printClock, printExact, printSpan } from '../model/time.ts'
import type { MarketSession } from '../session/market-session.ts'
import type { OutcomeView } from '../session/outcomes.ts'

const SHOWN = 12
// A row a level: more than this is shown in a list that scrolls and draws what is seen.
const ROW = 19

/** Both outcomes' books at the instant of the page, best prices in the middle. */
export function Ladders({ session }: { readonly session: MarketSession }) {
  const [isWhole, setWhole] = useState(false)
  const outcomes = session.outcomes.value
  if (outcomes === undefined) return null
  const isSeekingFar = session.replayer.isSeeking.value
  return (
    <div class={`ladders${isSeekingFar ? ' seeking' : ''}`}>
      {outcomes.map((view, index) => (
        <Ladder key={index} session={session} view={view} isWhole={isWhole} />
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={isWhole}
          onChange={(event) => setWhole(event.currentTarget.checked)}
        />{' '}
        every level
      </label>
    </div>
  )
}

function Ladder(props: {
  readonly session: MarketSession
  readonly view: OutcomeView
  readonly isWhole: boolean
}) {
  const { session, view, isWhole } = props
  const own = session.bookOf(view.key)
  const book = own !== undefined && view.isComplement ? complementOf(own) : own
  if (book === undefined) {
    return (
      <div class="ladder" data-outcome={view.label}>
        <h3>{view.label}</h3>
        <NoBook session={session} view={view} />
      </div>
    )
  }
  const { bids, asks, decimals } = book
  const most = isWhole ? Infinity : SHOWN
  const shownAsks = asks.ticks.slice(0, most).map((tick) => printTicks(tick, decimals))
  const shownBids = bids.ticks.slice(0, most).map((tick) => printTicks(tick, decimals))
  const askSizes = asks.size.slice(0, most)
  const bidSizes = bids.size.slice(0, most)
  const places = Math.max(2, placesOf([...shownAsks, ...shownBids]))
  const sizePlaces = placesOf([...askSizes, ...bidSizes])
  const largest = Math.max(...askSizes.map(Number), ...bidSizes.map(Number), 0)
  const { spread, mid } = quoteOf(book)
  const side = (
    name: 'ask' | 'bid',
    prices: readonly string[],
    sizes: readonly string[],
    hidden: number,
  ) => {
    const rows = prices.map((price, index) => ({ price, size: sizes[index]! }))
    const ordered = name === 'ask' ? rows.toReversed() : rows
    return (
      <Side
        name={name}
        rows={ordered}
        places={places}
        sizePlaces={sizePlaces}
        largest={largest}
        hidden={hidden}
        isWhole={isWhole}
      />
    )
  }
  return (
    <div
      class="ladder"
      data-outcome={view.label}
      data-sequence={book.sequence}
      data-received={book.received}
    >
      <h3>
        {view.label}
        {view.isComplement && (
          <span class="hint" title="One book, seen from the other outcome">
            {' '}
            1 − p
          </span>
        )}
      </h3>
      {side('ask', shownAsks, askSizes, asks.ticks.length - shownAsks.length)}
      <div class="spread-row">
        <span title="Middle of the best prices">{mid ?? '–'}</span>
        <span title="Best ask less best bid">{spread === undefined ? '–' : `± ${spread}`}</span>
      </div>
      {side('bid', shownBids, bidSizes, bids.ticks.length - shownBids.length)}
      <p class="ladder-foot" title={`received ${printExact(book.received)} UTC`}>
        #{book.sequence} · {printClock(book.received)}
        <br />
        {asks.ticks.length} asks · {bids.ticks.length} bids · <Age session={session} book={book} />{' '}
        old
      </p>
    </div>
  )
}

// Written by hand: it changes with every frame, and nothing else of the ladder need do so.
function Age({ session, book }: { readonly session: MarketSession; readonly book: Book }) {
  const ref = useRef<HTMLSpanElement>(null)
  const now = useSignal(book)
  now.value = book
  useSignalEffect(() => {
    const text = printSpan(Math.max(0, session.clock.value - now.value.received))
    if (ref.current !== null) ref.current.textContent = text
  })
  return <span ref={ref} />
}

function Side(props: {
  readonly name: 'ask' | 'bid'
  readonly rows: readonly { readonly price: string; readonly size: string }[]
  readonly places: number
  readonly sizePlaces: number
  readonly largest: number
  readonly hidden: number
  readonly isWhole: boolean
}) {
  const { name, rows, places, sizePlaces, largest, hidden, isWhole } = props
  const more = hidden > 0 && (
    <div class="more-levels">
      {hidden} more {name === 'ask' ? 'asks above' : 'bids below'}
    </div>
  )
  const list = (
    <ol class={`levels ${name}s`} aria-label={`${name}s`}>
      {rows.length === 0 && <li class="no-level">no {name}s</li>}
      {rows.map(({ price, size }, index) => (
        // By place, not by price: a change of the book then changes texts and moves no element.
        // The bar is its background: an element of its own would cost more to paint than all texts.
        <li
          key={index}
          style={{ backgroundSize: `${((Number(size) / largest) * 100).toFixed(1)}% 17px` }}
        >
          <span class="price">{padDecimal(price, places)}</span>
          <span class="size">{groupDigits(padDecimal(size, sizePlaces))}</span>
        </li>
      ))}
    </ol>
  )
  return (
    <>
      {name === 'ask' && more}
      {isWhole && rows.length > SHOWN ? (
        <div
          class="levels-scroll"
          tabIndex={0}
          role="group"
          aria-label={`all ${rows.length} ${name}s`}
          style={{ maxHeight: `${ROW * SHOWN}px` }}
        >
          {list}
        </div>
      ) : (
        list
      )}
      {name === 'bid' && more}
    </>
  )
}

function NoBook({
  session,
  view,
}: {
  readonly session: MarketSession
  readonly view: OutcomeView
}) {
  const gap = session.gapOf(view.key)
  const notice = session.bookNotices.value.find(
    ({ token_id }) => token_id === undefined || token_id === view.tokenId,
  )
  if (gap !== undefined) {
    const until = gap.end === undefined ? 'It is still open.' : `It ends ${printClock(gap.end)}.`
    return (
      <div class="no-book gap-book" role="status">
        <strong>Gap: {gap.reason.replaceAll('_', ' ')}</strong>
        <p>
          {gapSentence(gap.reason)} It began {printClock(gap.start)}. {until} The book before it may
          have changed unseen and is not shown.
        </p>
      </div>
    )
  }
  if (notice !== undefined && !session.isLive.value) {
    return (
      <div class="no-book" role="status">
        <strong>No book at this instant</strong>
        <p>{notice.message}</p>
      </div>
    )
  }
  const hasEnded =
    session.isLive.value && !session.isOpen.value && session.extent.value !== undefined
  if (hasEnded) {
    return (
      <div class="no-book" role="status">
        <strong>The market has closed</strong>
        <p>Step back (←) or move the time below to see its books.</p>
      </div>
    )
  }
  const isWaiting = session.replayer.isSeeking.value || session.isOpen.value
  return (
    <div class="no-book" role="status">
      <strong>{isWaiting ? 'Waiting for the first book' : 'No book'}</strong>
      <p>
        {isWaiting
          ? 'It appears here with the next observation.'
          : 'The market has no recorded book at this instant. Move the time below.'}
      </p>
    </div>
  )
}
