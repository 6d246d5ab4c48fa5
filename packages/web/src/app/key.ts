import { signal } from '@preact/signals'

const NAME = 'priorbook.key'

/** The visitor's key; absent while demonstration data are shown. It is kept in this browser alone. */
export const key = signal<string | undefined>(read())

/** Keeps a key, or forgets it. */
export function keepKey(text: string | undefined): void {
  key.value = text
  try {
    if (text === undefined) localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, text)
  } catch {
    // A browser that keeps nothing still has the key until the page is left.
  }
}

function read(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined
  } catch {
    return undefined
  }
}
