import { signal } from '@preact/signals'
import { parsePlace, printPlace, type Place } from '../model/place.ts'

/** The current page. */
export const place = signal<Place>(here())

/** Goes to a page; `replace` adds no entry to the history. */
export function go(to: Place, how: 'push' | 'replace' = 'push'): void {
  const address = printPlace(to)
  if (address !== location.pathname + location.search) {
    if (how === 'push') history.pushState(null, '', address)
    else history.replaceState(null, '', address)
  }
  place.value = to
  if (how === 'push') scrollTo(0, 0)
}

/** Changes the address to what the page already shows. */
export function rewriteAddress(to: Place): void {
  const address = printPlace(to)
  if (address !== location.pathname + location.search) history.replaceState(null, '', address)
}

/** Handles the back button and all links of the explorer. */
export function startRouter(): void {
  addEventListener('popstate', () => (place.value = here()))
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element | null)?.closest('a')
    if (
      link === null ||
      link === undefined ||
      link.target !== '' ||
      link.hasAttribute('download')
    ) {
      return
    }
    const url = new URL(link.href)
    // The browser itself scrolls to a part of a page.
    if (url.origin !== location.origin || url.hash !== '') return
    const to = parsePlace(url.pathname, url.search)
    if (to.page === 'nowhere') return
    event.preventDefault()
    go(to)
  })
}

function here(): Place {
  return parsePlace(location.pathname, location.search)
}
