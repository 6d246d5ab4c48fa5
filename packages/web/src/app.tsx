import { place } from './app/router.ts'
import { HomePage } from './pages/home-page.tsx'
import { lazyPage } from './ui/lazy-page.tsx'
import { EmptyNote } from './ui/trouble-note.tsx'
import { ReportStrip } from './ui/report-strip.tsx'
import { TopBar } from './ui/top-bar.tsx'

// A visit begins with the start page; all other pages are fetched when they are opened.
const AlertsPage = lazyPage(async () => (await import('./pages/alerts-page.tsx')).AlertsPage)
const BacktestPage = lazyPage(async () => (await import('./pages/backtest-page.tsx')).BacktestPage)
const ComparePage = lazyPage(async () => (await import('./pages/compare-page.tsx')).ComparePage)
const ContractsPage = lazyPage(
  async () => (await import('./pages/contracts-page.tsx')).ContractsPage,
)
const CoveragePage = lazyPage(async () => (await import('./pages/coverage-page.tsx')).CoveragePage)
const EventPage = lazyPage(async () => (await import('./pages/event-page.tsx')).EventPage)
const EventsPage = lazyPage(async () => (await import('./pages/events-page.tsx')).EventsPage)
const GuidesPage = lazyPage(async () => (await import('./pages/guides-page.tsx')).GuidesPage)
const KeyPage = lazyPage(async () => (await import('./pages/key-page.tsx')).KeyPage)
const MarketPage = lazyPage(async () => (await import('./pages/market-page.tsx')).MarketPage)
const MarketsPage = lazyPage(async () => (await import('./pages/markets-page.tsx')).MarketsPage)
const ReferencePage = lazyPage(
  async () => (await import('./pages/reference-page.tsx')).ReferencePage,
)
const StatusPage = lazyPage(async () => (await import('./pages/status-page.tsx')).StatusPage)

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
        <>
          <ReportStrip market={`${here.venue}:${here.marketId}`} time={here.time} />
          <MarketPage
            key={`${here.venue}/${here.marketId}`}
            venue={here.venue}
            marketId={here.marketId}
            time={here.time}
            view={here}
          />
        </>
      )
    case 'events':
      return <EventsPage filters={here.filters} />
    case 'event':
      return (
        <EventPage
          key={`${here.venue}/${here.eventId}`}
          venue={here.venue}
          eventId={here.eventId}
          range={here.range}
        />
      )
    case 'contracts':
      return <ContractsPage filters={here.filters} />
    case 'contract':
      return <ComparePage key={here.contractId} contractId={here.contractId} view={here} />
    case 'coverage':
      return <CoveragePage venue={here.venue} day={here.day} />
    case 'reference':
      return <ReferencePage asset={here.asset} feed={here.feed} range={here.range} />
    case 'backtest':
      return <BacktestPage market={here.market} fill={here.fill} />
    case 'guides':
      return <GuidesPage guide={here.guide} />
    case 'alerts':
      return <AlertsPage view={here} />
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
