import { keepKey } from '../app/key.ts'
import { place } from '../app/router.ts'
import type { Trouble } from '../app/trouble.ts'

/** A failure and its remedy, shown in place of the data. */
export function TroubleNote({ trouble }: { readonly trouble: Trouble }) {
  const { title, text, action, isTemporary } = trouble
  return (
    <div class="note trouble" role={isTemporary ? 'status' : 'alert'} data-code={trouble.code}>
      <strong>{title}</strong>
      <p>{text}</p>
      <p class="note-actions">
        {action === 'markets' && <a href="/markets">All markets</a>}
        {action === 'events' && <a href="/events">All events</a>}
        {action === 'contracts' && <a href="/contracts">All contracts</a>}
        {action === 'key' && (
          <>
            {place.value.page !== 'key' && <a href="/key">Key page</a>}
            <button type="button" onClick={() => keepKey(undefined)}>
              Show demonstration data
            </button>
          </>
        )}
        {isTemporary && <span class="pulse">Trying again…</span>}
      </p>
    </div>
  )
}

/** A sentence in place of missing data. */
export function EmptyNote(props: {
  readonly title: string
  readonly text?: string
  readonly action?: { readonly href: string; readonly name: string }
}) {
  const { action } = props
  return (
    <div class="note" role="status">
      <strong>{props.title}</strong>
      {props.text !== undefined && <p>{props.text}</p>}
      {action !== undefined && (
        <p class="note-actions">
          <a href={action.href}>{action.name}</a>
        </p>
      )}
    </div>
  )
}
