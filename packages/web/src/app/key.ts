import { signal } from '@preact/signals'

const NAME = 'priorbook.key'

/** The visitor's key, kept only in this browser; absent while demonstration data is shown. */
export const key = signal<string | undefined>(read())

/** Stores a key, or removes it. */
export function keepKey(text: string | undefined): void {
  key.value = text
  try {
    if (text === undefined) localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, text)
  } catch {
    // Without storage the key lasts until the page is left.
  }
}

function read(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined
  } catch {
    return undefined
  }
}
