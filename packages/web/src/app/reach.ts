import { signal } from '@preact/signals'

/** False while the server cannot be reached; panels try again by themselves. */
export const isReachable = signal(true)

/** Counts the times that the server came back: what was shown before may be old. */
export const returns = signal(0)

/** An answer came, whatever it said. */
export function heardFromServer(): void {
  if (isReachable.peek()) return
  isReachable.value = true
  returns.value++
}

/** No answer came. */
export function lostServer(): void {
  isReachable.value = false
}
