import type { CaptureLog } from '../capture/contract.ts'
import { sleep } from '../../lib/wait.ts'

/** Does a task over and over until the signal aborts; a task that fails is logged and done again. */
export async function repeat(
  everyMs: number,
  signal: AbortSignal,
  log: CaptureLog,
  task: () => Promise<void> | void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task()
    } catch (error) {
      // Requests end by throwing when the signal aborts; everything else is a fault of ours.
      if (!signal.aborted) log.error({ error: String(error) }, 'venue C: a periodic task failed')
    }
    await sleep(everyMs, signal)
  }
}
