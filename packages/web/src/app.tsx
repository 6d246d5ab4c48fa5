import { place } from './app/router.ts'
import { ComparePage } from './pages/compare-page.tsx'
import { ContractsPage } from './pages/contracts-page.tsx'
import { CoveragePage } from './pages/coverage-page.tsx'
import { EventPage } from './pages/event-page.tsx'
import { EventsPage } from './pages/events-page.tsx'
import { HomePage } from './pages/home-page.tsx'
import { KeyPage } from './pages/key-page.tsx'
import { MarketPage } from './pages/market-page.tsx'
import { MarketsPage } from './pages/markets-page.tsx'
import { ReferencePage } from './pages/reference-page.tsx'
import { StatusPage } from './pages/status-page.tsx'
import { EmptyNote } from './ui/trouble-note.tsx'
import { TopBar } from './ui/top-bar.tsx'

/** The explorer. */
export function App() {
  return (
    <>
      <TopBar />
      <Page />
    </>
  )
}

function Page() {
  const here = place.value
  switch (here.page) {
    case 'home':
      return <HomePage />
    case 'markets':
      return <MarketsPage filters={here.filters} />
    case 'market':
      return (
        <MarketPage
          key={`${here.venue}/${here.marketId}`}
          venue={here.venue}
          marketId={here.marketId}
          time={here.time}
        />
      )
    case 'events':
      return <EventsPage filters={here.filters} />
    case 'event':
      return (
        <EventPage
          key={`${here.venue}/${here.eventId}`}
          venue={here.venue}
          eventId={here.eventId}
        />
      )
    case 'contracts':
      return <ContractsPage filters={here.filters} />
    case 'contract':
      return <ComparePage key={here.contractId} contractId={here.contractId} view={here} />
    case 'coverage':
      return <CoveragePage venue={here.venue} day={here.day} />
    case 'reference':
      return <ReferencePage asset={here.asset} feed={here.feed} />
    case 'status':
      return <StatusPage />
    case 'key':
      return <KeyPage />
    case 'nowhere':
      return (
        <main id="main" class="page">
          <h1 class="sr">Not found</h1>
          <EmptyNote
            title="There is nothing at this address"
            text="Use the menu above to find a page."
          />
        </main>
      )
  }
}
