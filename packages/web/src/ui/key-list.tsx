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
  const field = (): HTMLInputElement | null => document.querySelector('.filters input[type=search]')
  if (field() === null && place.peek().page !== 'markets') go({ page: 'markets', filters: {} })
  const focus = (tries: number): void => {
    const found = field()
    if (found !== null) found.select()
    else if (tries > 0) requestAnimationFrame(() => focus(tries - 1))
  }
  focus(20)
}
