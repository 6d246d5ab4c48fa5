import { printCount } from '@priorbook/sdk/command-line'
import type { Progress } from '../store/store.ts'

const EVERY_MS = 2000

/** Tells on standard error how far the upgrade of a tape has come: when a part of it begins, and every two seconds. */
export function tellUpgrade(): Progress {
  let told = performance.now()
  return (done, total, what) => {
    const now = performance.now()
    if (done > 0 && now - told < EVERY_MS) return
    told = now
    const text = `upgrade of the tape: ${printCount(done)} of ${printCount(total)} ${what}`
    process.stderr.write(`${text}; after a stop the next start finishes it\n`)
  }
}
