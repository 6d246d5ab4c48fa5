import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** What the page is about, for the tab; absent where its name says it. */
export const subject = signal<string | undefined>(undefined)

/** Names the subject of a page as soon as it is known. */
export function useSubject(text: string | undefined): void {
  useEffect(() => {
    subject.value = text
    return () => (subject.value = undefined)
  }, [text])
}
