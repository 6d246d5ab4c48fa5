/** Whether this is `npm run test:full`, with the counts that the docs name. */
export const isFullRun = process.env['PRIORBOOK_FULL'] === '1'

/** The runs of a property: all of them in a full run, a quarter (100 at least) in `npm test`. */
export function runsOf(full: number): number {
  return isFullRun ? full : Math.min(full, Math.max(100, Math.ceil(full / 4)))
}
