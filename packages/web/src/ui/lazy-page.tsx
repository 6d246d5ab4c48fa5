import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { EmptyNote } from './trouble-note.tsx'

// How long a page may load before the visitor is told, so that a fast load does not flicker.
const QUIET_MS = 300

/** A page in a chunk of its own, which the browser fetches when the page is opened for the first time. */
export function lazyPage<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let Loaded: ComponentType<Props> | undefined
  return function LazyPage(props: Props) {
    const [state, setState] = useState<'waiting' | 'slow' | 'failed' | 'loaded'>('waiting')
    useEffect(() => {
      if (Loaded !== undefined) return undefined
      const timer = setTimeout(() => setState('slow'), QUIET_MS)
      void load()
        .then(
          (Component) => {
            Loaded = Component
            setState('loaded')
          },
          () => setState('failed'),
        )
        .finally(() => clearTimeout(timer))
      return () => clearTimeout(timer)
    }, [])
    if (Loaded !== undefined) return <Loaded {...props} />
    return (
      <main id="main" class="page">
        <h1 class="sr">Loading</h1>
        {state === 'slow' && <EmptyNote title="Loading the page" text="One moment." />}
        {state === 'failed' && <FailedNote />}
      </main>
    )
  }
}

// The service may have been updated since this tab was opened: it then serves other chunks.
function FailedNote() {
  return (
    <>
      <EmptyNote
        title="This page could not be loaded"
        text="The server cannot be reached, or it was updated since you opened this tab."
      />
      <p class="reload">
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </p>
    </>
  )
}
