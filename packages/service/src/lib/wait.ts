import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from './clock.ts'

/** Resolves after this time or when the signal aborts; never rejects. */
export function sleep(ms: number, signal: AbortSignal, clock: Clock = SYSTEM_CLOCK): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Leaves the process to others between two steps of long work; throws `store_closed` once the work is stopped. */
export async function restBetween(ms: number, signal?: AbortSignal): Promise<void> {
  await pause(ms)
  if (signal?.aborted === true) throw new PriorbookError('store_closed', 'it was stopped')
}

/** Waits for work, or throws the reason of a signal that aborts first; the work goes on. */
export async function unlessAborted<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  signal.throwIfAborted()
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
