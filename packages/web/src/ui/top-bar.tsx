import { key } from '../app/key.ts'
import { isReachable } from '../app/panel.ts'
import { place } from '../app/router.ts'
import { theme, type Theme } from '../app/theme.ts'

const LINKS = [
  ['markets', '/markets', 'Markets'],
  ['events', '/events', 'Events'],
  ['contracts', '/contracts', 'Compare'],
  ['reference', '/reference', 'Reference'],
  ['coverage', '/coverage', 'Coverage'],
  ['backtest', '/backtest', 'Backtest'],
  ['status', '/status', 'Recorder'],
] as const

/** The navigation bar of every page. */
export function TopBar() {
  const here = place.value.page
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
      <nav aria-label="Main">
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
        <ThemeButton />
      </div>
    </header>
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
