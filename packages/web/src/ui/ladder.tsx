import { computed, effect } from '@preact/signals'
import { isMarketState, type GapReason } from '@priorbook/sdk/domain'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { showClock } from '../app/show.ts'
import { complementOf } from '../model/book.ts'
import { gapSentence } from '../model/gap.ts'
import type { MarketSession } from '../session/market-session.ts'
import type { OutcomeView } from '../session/outcomes.ts'
import { createLadderWriter, LADDER_ROW } from './ladder-writer.ts'

const SHOWN = 12

/** The books of both outcomes at the page's instant, best prices in the middle. */
export function Ladders({ session }: { readonly session: MarketSession }) {
  const [isWhole, setWhole] = useState(false)
  const outcomes = session.outcomes.value
  if (outcomes === undefined) return null
  const isSeeking = session.replayer.isSeeking.value
  return (
    <div class={`ladders${isSeeking ? ' seeking' : ''}`}>
      {/* Above the books, whose height changes while they are read. */}
      <label class="check">
        <input
          type="checkbox"
          checked={isWhole}
          onChange={(event) => setWhole(event.currentTarget.checked)}
        />{' '}
        every level
      </label>
      {outcomes.map((view, index) => (
        <Ladder key={index} session={session} view={view} isWhole={isWhole} />
      ))}
    </div>
  )
}

type LadderProps = {
  readonly session: MarketSession
  readonly view: OutcomeView
  readonly isWhole: boolean
}

function Ladder(props: LadderProps) {
  const { session, view, isWhole } = props
  const { key, label } = view
  const hasBook = useMemo(() => computed(() => session.bookOf(key) !== undefined), [session, key])
  return (
    <div class="ladder" data-outcome={label}>
      <h3>
        {label}
        {view.isComplement && hasBook.value && (
          <span class="hint" title="One book, seen from the other outcome">
            {' '}
            1 − p
          </span>
        )}
      </h3>
      {hasBook.value ? (
        <LadderBook key={`${key} ${isWhole}`} {...props} />
      ) : (
        <NoBook session={session} view={view} />
      )}
    </div>
  )
}

// Written through the DOM, so that only changed texts are touched.
function LadderBook(props: LadderProps) {
  const { session, isWhole } = props
  const { key, isComplement } = props.view
  const host = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = host.current!
    const writer = createLadderWriter(element, isWhole ? Infinity : SHOWN)
    // Levels, foot and clock change in the same frame, and so does the other ladder: whatever is on the page at
    // once is of one instant.
    const stops = [
      effect(() => {
        const own = session.bookOf(key)
        if (own !== undefined) writer.write(isComplement ? complementOf(own) : own)
      }),
      effect(() => {
        const own = session.bookOf(key)
        const clock = session.throttledClock.value
        if (own !== undefined) writer.writeFoot(own, clock)
      }),
    ]
    return () => {
      for (const stop of stops) stop()
      writer.clear()
    }
  }, [session, key, isComplement, isWhole])
  const scroll = { maxHeight: `${LADDER_ROW * SHOWN}px` }
  const list = (side: 'ask' | 'bid') => {
    const levels = <ol class={`levels ${side}s`} aria-label={`${side}s`} />
    if (!isWhole) return levels
    return (
      <div
        class="levels-scroll"
        tabIndex={0}
        role="group"
        aria-label={`all ${side}s`}
        style={scroll}
      >
        {levels}
      </div>
    )
  }
  return (
    <div ref={host}>
      <div class="more-levels more-asks" />
      {list('ask')}
      <div class="spread-row">
        <span title="Middle of the best prices" />
        <span title="Best ask less best bid" />
      </div>
      {list('bid')}
      <div class="more-levels more-bids" />
      <p class="ladder-foot" />
    </div>
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
  if (gap !== undefined && isMarketState(gap.reason)) {
    return <NotOpen session={session} reason={gap.reason} />
  }
  if (gap !== undefined) {
    const until = gap.end === undefined ? 'It is still open.' : `It ends ${showClock(gap.end)}.`
    return (
      <div class="no-book gap-book" role="status">
        <strong>Gap: {gap.reason.replaceAll('_', ' ')}</strong>
        <p>
          {gapSentence(gap.reason)} It began {showClock(gap.start)}. {until} The book before it may
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
  if (hasEnded) return <NotOpen session={session} reason="market_closed" />
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

// A market that is not open has no book; nothing of it was lost.
function NotOpen(props: { readonly session: MarketSession; readonly reason: GapReason }) {
  const winner = props.session.known.value?.winning_outcome ?? null
  const isEarly = props.reason === 'market_not_open'
  return (
    <div class="no-book" role="status">
      <strong>{isEarly ? 'The market had not opened' : 'The market has closed'}</strong>
      {winner !== null && <p class="winner">{winner} won.</p>}
      <p>
        {isEarly
          ? 'Step forward (→) or move the time below to see its books.'
          : 'Step back (←) or move the time below to see its books.'}
      </p>
    </div>
  )
}
