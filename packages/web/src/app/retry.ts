import { toTrouble, type Trouble } from './trouble.ts'

/** How long the page waits before it repeats a request that failed for a temporary reason. */
export const RETRY_MS = 3000

/** Waits, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}

/** Repeats a load while it fails for temporary reasons; returns whether it succeeded. */
export async function retryLoad(
  load: () => Promise<void>,
  signal: AbortSignal,
  onTrouble: (trouble: Trouble) => void = () => undefined,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await load()
      return !signal.aborted
    } catch (error) {
      if (signal.aborted) return false
      const trouble = toTrouble(error)
      onTrouble(trouble)
      if (!trouble.isTemporary) return false
      await pause(RETRY_MS, signal)
    }
  }
  return false
}
