// Node takes a longer time for 1 ms.
const MAX_STEP_MS = 2 ** 31 - 1

/** Calls back once after any time; gives a function that stops the wait. */
export function startLongTimer(ms: number, run: () => void): () => void {
  let timer: NodeJS.Timeout
  const arm = (left: number): void => {
    const step = Math.min(left, MAX_STEP_MS)
    timer = setTimeout(() => (left > step ? arm(left - step) : run()), step)
  }
  arm(ms)
  return () => clearTimeout(timer)
}
