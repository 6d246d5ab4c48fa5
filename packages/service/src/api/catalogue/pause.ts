/** Lets other requests go first; long walks call it between slices, so that none waits for them. */
export function takeTurns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
