import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** Asks before something that cannot be undone; Escape and a press beside it keep everything as it is. */
export function ConfirmDialog(props: {
  readonly title: string
  /** The word of the button that does it. */
  readonly action: string
  readonly children: ComponentChildren
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  const ref = useRef<HTMLDialogElement>(null)
  // Before the next key, which is for the dialog.
  useLayoutEffect(() => ref.current?.showModal(), [])
  return (
    <dialog
      ref={ref}
      class="confirm"
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) event.currentTarget.close()
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          if ((event.submitter as HTMLButtonElement | null)?.value === 'yes') props.onConfirm()
        }}
      >
        <h2>{props.title}</h2>
        {props.children}
        <p class="confirm-buttons">
          <button type="submit" value="no" autofocus>
            Keep it
          </button>
          <button type="submit" value="yes" class="danger">
            {props.action}
          </button>
        </p>
      </form>
    </dialog>
  )
}
