import { signal } from '@preact/signals'

/** False while the server cannot be reached; panels retry by themselves. */
export const isReachable = signal(true)

/** Counts how often the server came back: data from before may be stale. */
const returns = signal(0)

/** The server answered, with any status. */
export function noteAnswer(): void {
  if (isReachable.peek()) return
  isReachable.value = true
  returns.value++
}

/** A request got no answer. */
export function noteNoAnswer(): void {
  isReachable.value = false
}
