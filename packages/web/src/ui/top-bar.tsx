import { key } from '../app/key.ts'
import { isReachable } from '../app/panel.ts'
import { place } from '../app/router.ts'
import { useEffect, useRef } from 'preact/hooks'
import { prices, zone } from '../app/show.ts'
import { theme, type Theme } from '../app/theme.ts'
import { subject } from '../app/title.ts'
import { useClosingBoxes } from './close-boxes.ts'
import { KeyList } from './key-list.tsx'
import { useOverflow } from './scroll-box.tsx'
import { Segments } from './segments.tsx'

const LINKS = [
  ['markets', '/markets', 'Markets'],
  ['events', '/events', 'Events'],
  ['contracts', '/contracts', 'Compare'],
  ['reference', '/reference', 'Reference'],
  ['coverage', '/coverage', 'Coverage'],
  ['backtest', '/backtest', 'Backtest'],
  ['alerts', '/alerts', 'Alerts'],
  ['status', '/status', 'Recorder'],
] as const

const OTHERS: Readonly<Record<string, string>> = {
  market: 'Market',
  event: 'Event',
  contract: 'Compare',
  guides: 'Guides',
  key: 'Your key',
  nowhere: 'Not found',
}

/** The navigation bar of every page. */
export function TopBar() {
  const here = place.value.page
  const nav = useRef<HTMLElement>(null)
  useOverflow(nav)
  useClosingBoxes()
  const name = subject.value ?? LINKS.find(([page]) => page === here)?.[2] ?? OTHERS[here]
  useEffect(() => {
    document.title = name === undefined ? 'Priorbook' : `${name} · Priorbook`
    // On a narrow screen the menu scrolls: the page that is shown must be in sight.
    nav.current?.querySelector('[aria-current]')?.scrollIntoView?.({ block: 'nearest' })
  }, [name])
  return (
    <header class="top">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <a class="brand" href="/" aria-label="Priorbook, start page">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <path class="mark-ask" d="M10 3h8v3h-8zM10 7.3h5v2.2h-5z" />
          <path class="mark-bid" d="M2 14h8v3H2zM5 10.5h5v2.2H5z" />
        </svg>
        Priorbook
      </a>
      <nav aria-label="Main" ref={nav}>
        {LINKS.map(([page, href, name]) => {
          const isHere = `${here}s` === page || here === page
          return (
            <a key={page} href={href} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
              {name}
            </a>
          )
        })}
        <a href="/docs" target="_self">
          Docs
        </a>
      </nav>
      <div class="top-right">
        {!isReachable.value && (
          <span class="away" role="status">
            ▲ server away, trying again
          </span>
        )}
        <a class={`who${key.value === undefined ? ' demo' : ''}`} href="/key">
          {key.value === undefined ? 'Demo data' : 'Key set'}
        </a>
        <Settings />
        <KeyList />
        <ThemeButton />
      </div>
    </header>
  )
}

function Settings() {
  return (
    <details class="box settings">
      <summary title="Units and clock">
        {prices.value === 'cents' ? '¢' : '0.5'} · {zone.value === 'utc' ? 'UTC' : 'local'}
      </summary>
      <form onSubmit={(event) => event.preventDefault()}>
        <Segments
          label="Prices"
          value={prices.value}
          choices={[
            ['probability', '0.525'],
            ['cents', '52.5¢'],
          ]}
          onChange={(value) => (prices.value = value)}
        />
        <Segments
          label="Times"
          value={zone.value}
          choices={[
            ['utc', 'UTC'],
            ['local', 'Local time'],
          ]}
          onChange={(value) => (zone.value = value)}
        />
      </form>
    </details>
  )
}

const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const SIGNS: Readonly<Record<Theme, string>> = { auto: '◐', light: '☼', dark: '☾' }

function ThemeButton() {
  const { value } = theme
  return (
    <button
      type="button"
      class="icon"
      aria-label={`Colours: ${value}. Change`}
      title={`Colours: ${value}`}
      onClick={() => (theme.value = NEXT[value])}
    >
      {SIGNS[value]}
    </button>
  )
}
