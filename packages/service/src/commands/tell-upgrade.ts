import { printCount } from '@priorbook/sdk/command-line'
import type { Progress } from '../store/store.ts'

const EVERY_MS = 2000

/** Tells on standard error, every two seconds, how far the upgrade of a tape has come. */
export function tellUpgrade(): Progress {
  let told = performance.now()
  return (done, total, what) => {
    const now = performance.now()
    if (now - told < EVERY_MS) return
    told = now
    const text = `upgrade of the tape: ${printCount(done)} of ${printCount(total)} ${what}`
    process.stderr.write(`${text}; it goes on after a stop\n`)
  }
}
