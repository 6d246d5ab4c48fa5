import { useRef } from 'preact/hooks'
import { go, place } from '../app/router.ts'
import { useKeys } from './use-keys.ts'

const KEYS = [
  ['/', 'Search markets, or the list that is shown'],
  ['?', 'This list'],
  ['Space', 'Play and pause'],
  ['← →', 'Previous and next observation'],
  ['l', 'Back to the present'],
  ['+ −', 'Zoom in and out'],
  ['Shift ← →', 'Move the span of the charts'],
  ['0', 'Show everything recorded'],
] as const

/** The list of keys, and the two that work on every page: `/` searches, `?` shows the list. */
export function KeyList() {
  const dialog = useRef<HTMLDialogElement>(null)
  const open = (): void => dialog.current?.showModal()
  useKeys({ '/': search, '?': open }, [])
  return (
    <>
      <button type="button" class="icon" aria-label="Keys (?)" title="Keys (?)" onClick={open}>
        ?
      </button>
      <dialog
        ref={dialog}
        class="key-list"
        aria-label="Keys"
        onClick={(event) => {
          if (event.target === event.currentTarget) event.currentTarget.close()
        }}
      >
        <form method="dialog">
          <h2>Keys</h2>
          <button type="submit">Close</button>
        </form>
        <dl>
          {KEYS.map(([name, text]) => (
            <div key={name}>
              <dt>
                <kbd>{name}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <p class="quiet">
          On a chart: the wheel zooms, Shift and the wheel or a drag move, a press shows that
          instant.
        </p>
      </dialog>
    </>
  )
}

// A list without a search field, and every other page, lead to the markets.
function search(): void {
  const found = searchField()
  if (found !== null) {
    found.select()
    return
  }
  if (place.peek().page !== 'markets') go({ page: 'markets', filters: {} })
  typeAhead()
}

function searchField(): HTMLInputElement | null {
  return document.querySelector('.filters input[type=search]')
}

// How long a page may take to arrive, in milliseconds.
const PATIENCE_MS = 20_000

// A page is fetched when it is opened. What is typed until its field is there is put into the field.
function typeAhead(): void {
  let typed = ''
  const type = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return
    if (event.key === 'Backspace') typed = typed.slice(0, -1)
    else if (event.key.length === 1) typed += event.key
    else return
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  const watch = new MutationObserver(() => {
    const field = searchField()
    if (field === null) return
    stop()
    field.focus()
    if (typed === '') return
    field.value = typed
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })
  const timer = setTimeout(() => stop(), PATIENCE_MS)
  const stop = (): void => {
    clearTimeout(timer)
    watch.disconnect()
    removeEventListener('keydown', type, true)
  }
  addEventListener('keydown', type, true)
  watch.observe(document.body, { childList: true, subtree: true })
}
