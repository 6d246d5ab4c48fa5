import { sleep } from '../../lib/wait.ts'
import type { CaptureLog } from '../capture/contract.ts'

const AGAIN_MS = 1_000

/**
 * Runs one part of a connector until the signal aborts. What upstreams do is never thrown, so an
 * error here is ours: it is logged, and the part starts again instead of being missing unnoticed.
 */
export async function supervise(
  name: string,
  run: (signal: AbortSignal) => Promise<void>,
  log: CaptureLog,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await run(signal)
      return
    } catch (error) {
      // Aborting rejects what is asked for at that moment.
      if (signal.aborted) return
      log.error({ error }, `venue B: ${name} failed and starts again`)
      await sleep(AGAIN_MS, signal)
    }
  }
}
