/**
 * The row engine: rows of several streams by received time, with gaps where they belong, each once.
 *
 * - `BookLane`, `RowLane`: one stream of one instrument (observations; trades or samples), in both
 *   orders, read page by page from a position. Anything with a `Place` can be a `Lane` beside them.
 * - `Merge`: the lane whose item is next. `await merge.next()`, shift from the lane, `merge.settle()`.
 *   Pages stop after N rows, downloads at the end, a replay when the next item is not due.
 * - `cursor.ts`: the positions of lanes as members of a cursor. `receipt.ts`: rows counted by instrument.
 * - `gaps.ts`: the keys of an instrument's gaps, `GapQueue` to place gaps among ascending rows, `isOnPage`
 *   to give each gap of a walk to one page. Two gaps are the same where their `gapId` is.
 */
export * from './cursor.ts'
export * from './gaps.ts'
export * from './lane.ts'
export * from './merge.ts'
export * from './receipt.ts'
