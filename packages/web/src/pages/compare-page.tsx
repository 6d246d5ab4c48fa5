import { useComputed, useSignal, useSignalEffect, type Signal } from '@preact/signals'
import type { ContractWithTermsJson } from '@priorbook/sdk/client'
import { useEffect, useMemo } from 'preact/hooks'
import { key } from '../app/key.ts'
import { rewriteAddress } from '../app/router.ts'
import { showExact, zoneName } from '../app/show.ts'
import { useSubject } from '../app/title.ts'
import type { CompareView } from '../model/compare-view.ts'
import { comparisonOf, subjectOf, windowOf, winnerOf } from '../model/contract-words.ts'
import { printPlace } from '../model/place.ts'
import type { ApiCall } from '../model/snippet.ts'
import { MINUTE } from '../model/time.ts'
import { CompareSession } from '../session/compare-session.ts'
import { CompareBooks, BOOK_DEPTH } from '../ui/compare-books.tsx'
import { CompareChart, MemberKey } from '../ui/compare-chart.tsx'
import { ConsolidatedPanel } from '../ui/consolidated-panel.tsx'
import { ContractTerms } from '../ui/contract-terms.tsx'
import { EdgeTable } from '../ui/edge-table.tsx'
import { CloseFact, Fact } from '../ui/fact.tsx'
import { MemberTable } from '../ui/member-table.tsx'
import { EdgeFigure, NetPrice } from '../ui/net-price.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { Scrubber } from '../ui/scrubber.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import { ViewBar } from '../ui/view-bar.tsx'
import { LinkWord, StatusWord, VenueTag } from '../ui/words.tsx'

const SCOPE = { depth: BOOK_DEPTH, everyMs: 2000 } as const

/** All markets of one contract at the present or at any instant, side by side. */
export function ComparePage(props: { readonly contractId: string; readonly view: CompareView }) {
  const { contractId, view } = props
  const session = useMemo(
    () => new CompareSession(contractId, view, SCOPE),
    [`${key.value} ${contractId}`],
  )
  const lines = useSignal(view.lines)
  useEffect(() => () => session.close(), [session])
  useEffect(() => {
    if (view.time !== undefined && view.time !== session.time.peek()) session.seek(view.time)
  }, [view.time])
  const address = () =>
    ({
      page: 'contract',
      contractId,
      time: session.time.value,
      side: session.side.value,
      size: session.size.value,
      lines: lines.value,
      range: session.history.view.settled.value,
    }) as const
  // The address names everything that is shown while it stands still, so that it can be shared.
  useSignalEffect(() => {
    if (!session.replayer.isPlaying.value) rewriteAddress(address())
  })
  const contract = session.contract.value
  useSubject(contract === undefined ? undefined : `${subjectOf(contract)} · compare`)
  const trouble = session.trouble.value
  if (contract === undefined) {
    return (
      <main id="main" class="page">
        <h1 class="sr">Contract {contractId}</h1>
        {trouble === undefined ? <p class="quiet">Loading…</p> : <TroubleNote trouble={trouble} />}
      </main>
    )
  }
  const { history } = session
  return (
    <main
      id="main"
      class="page compare-page"
      data-loaded={history.isLoaded.value && session.shown.value !== undefined ? 'yes' : 'no'}
    >
      <CompareHead session={session} contract={contract} />
      {session.instantTrouble.value !== undefined && (
        <TroubleNote trouble={session.instantTrouble.value} />
      )}
      <Panels session={session} contract={contract} lines={lines} />
      <Scrubber store={history} link={() => location.origin + printPlace(address())} />
    </main>
  )
}

function Panels(props: {
  readonly session: CompareSession
  readonly contract: ContractWithTermsJson
  readonly lines: Signal<CompareView['lines']>
}) {
  const { session, contract, lines } = props
  const { history } = session
  const { calls } = session.panels.instant
  const books = useComputed(() => calls.value.filter(isOf('books')))
  const prices = useComputed(() => calls.value.filter(isOf('consolidated')))
  return (
    <>
      <PanelBox title="Members" calls={prices} tools={<At session={session} />}>
        <MemberTable session={session} contract={contract} />
      </PanelBox>
      <CompareViewBar session={session} />
      <PanelBox
        title="Price of Yes"
        calls={history.panels.snapshots.calls}
        tools={<ChartTools contract={contract} lines={lines} />}
      >
        <CompareChart
          history={history}
          members={contract.members}
          lines={lines.value}
          height={300}
        />
        {history.trouble.value !== undefined && <TroubleNote trouble={history.trouble.value} />}
      </PanelBox>
      <div class="compare-grid">
        <PanelBox title="Order books" calls={books} tools={<At session={session} />}>
          <CompareBooks session={session} contract={contract} />
        </PanelBox>
        <PanelBox
          title="All venues together, after fees"
          calls={prices}
          tools={<At session={session} />}
        >
          <ConsolidatedPanel session={session} />
        </PanelBox>
      </div>
      <div class="compare-more">
        <PanelBox title="Edges" calls={history.panels.spreads.calls}>
          <EdgeTable history={history} />
        </PanelBox>
        <PanelBox title="Is it the same bet?" calls={session.panels.contract.calls}>
          <ContractTerms contract={contract} />
        </PanelBox>
      </div>
    </>
  )
}

const isOf =
  (name: string) =>
  ({ url }: ApiCall): boolean =>
    new URL(url).pathname.endsWith(`/${name}`)

function CompareViewBar({ session }: { readonly session: CompareSession }) {
  const { view } = session.history
  const whole = {
    name: 'All',
    isShown: view.zoom.value === undefined,
    show: () => view.show(undefined),
  }
  const last = SPANS.map(([name, span]) => ({
    name,
    isShown: view.zoom.value !== undefined && view.zoom.value.to - view.zoom.value.from === span,
    show: () => {
      const to = Math.max(session.clock.peek(), (session.extent.peek()?.from ?? 0) + span)
      view.show({ from: to - span, to })
    },
  }))
  return <ViewBar view={view} presets={[whole, ...last]} />
}

const SPANS = [
  ['1 min', MINUTE],
  ['5 min', 5 * MINUTE],
] as const

// Whatever stands beside this label is of this instant.
function At({ session }: { readonly session: CompareSession }) {
  const shown = session.shown.value
  if (shown === undefined) return null
  return (
    <time class={`at${session.isSeeking.value ? ' seeking' : ''}`}>
      {showExact(shown.at).slice(11, 23)} {zoneName(shown.at)}
    </time>
  )
}

function CompareHead(props: {
  readonly session: CompareSession
  readonly contract: ContractWithTermsJson
}) {
  const { session, contract } = props
  const winner = winnerOf(contract)
  const shown = session.shown.value
  const bids = shown?.prices.bids
  const asks = shown?.prices.asks
  return (
    <div class="market-head compare-head">
      <div class="market-title">
        <div>
          <h1>{subjectOf(contract)}</h1>
          <p class="quiet">
            {windowOf(contract)} UTC · {comparisonOf(contract)}
          </p>
        </div>
      </div>
      <dl class="head-facts">
        <Fact name="Status" value={<StatusWord status={statusOf(session, contract)} />} />
        {winner !== undefined && <Fact name="Winner" value={winner} class="winner" />}
        <Fact
          name="Best net bid"
          class="bid best-bid"
          value={<NetPrice price={bids?.net_price[0]} venue={bids?.venue[0]} way="down" />}
        />
        <Fact
          name="Best net ask"
          class="ask best-ask"
          value={<NetPrice price={asks?.net_price[0]} venue={asks?.venue[0]} way="up" />}
        />
        <Fact
          name="Edge"
          class="edge"
          value={shown === undefined ? '–' : <EdgeFigure edge={shown.edges[0]} />}
        />
        <CloseFact close={session.closes.value} clock={session.wall.value} />
      </dl>
      <a class="alert-link" href={printPlace({ page: 'alerts', contractId: contract.id })}>
        Alert me…
      </a>
      <LinkWord link={session.link} moment={session.moment.value} />
    </div>
  )
}

// The record is read every few seconds; the clock knows the close at once.
function statusOf(session: CompareSession, contract: ContractWithTermsJson): string {
  return contract.status === 'open' && !session.isOpen.value ? 'closed' : contract.status
}

function ChartTools(props: {
  readonly contract: ContractWithTermsJson
  readonly lines: Signal<CompareView['lines']>
}) {
  const { contract, lines } = props
  return (
    <>
      <span class="legend">
        {contract.members.map(({ venue, market_id: id }, place) => (
          <span key={`${venue} ${id}`} class="member-legend">
            <MemberKey members={contract.members} place={place} /> <VenueTag venue={venue} />
          </span>
        ))}
        <i class="edge-key" /> edge <i class="hatch-key" /> gap
      </span>
      <div class="segments" role="group" aria-label="Lines">
        {(
          [
            ['quotes', 'Bid and ask'],
            ['middle', 'Middle'],
          ] as const
        ).map(([value, name]) => (
          <button
            key={value}
            type="button"
            aria-pressed={lines.value === value}
            onClick={() => (lines.value = value)}
          >
            {name}
          </button>
        ))}
      </div>
    </>
  )
}
