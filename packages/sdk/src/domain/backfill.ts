/**
 * Rows that were fetched from a venue's history lie under keys of their own, so that they are never among rows
 * that were observed: `backfill/` and the key of the instrument, or for gaps the id of the market. They are
 * ordered by the venue's clock: the received time of such a row is the venue's time, and its source time is
 * when the answer was received.
 */
const PREFIX = 'backfill/'

/** The key of the rows of an instrument, or of the gaps of a market, that come from a venue's history. */
export function toBackfillKey(key: string): string {
  return `${PREFIX}${key}`
}

/** True for the key of rows that come from a venue's history. */
export function isBackfillKey(key: string): boolean {
  return key.startsWith(PREFIX)
}

/** The key of the instrument, or the id of the market, of such a key; other keys as they are. */
export function fromBackfillKey(key: string): string {
  return isBackfillKey(key) ? key.slice(PREFIX.length) : key
}
