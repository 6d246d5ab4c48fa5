/** Writes journals: raw upstream messages, synced before their rows, so that all rows can be derived again. */
export { knowsAddress, listNotes } from './away-notes.ts'
export { checkAway } from './check-away.ts'
export { findAway, type FoundFiles } from './find-away.ts'
export { AWAY_FILE_BYTES, moveAway, type AwayOrder } from './move-away.ts'
export { journalBytes } from './journal-bytes.ts'
export { packJournal, unpackJournal, type PackReport } from './pack.ts'
export { newestOrigin } from './origin.ts'
export { fetchRecords, readJournal, readRecord } from './read.ts'
export {
  removeSegments,
  SegmentSizes,
  type KeptSegment,
  type RemovedSegments,
  type SegmentLimits,
} from './retention.ts'
export type { JournalRepair } from './tail.ts'
export { openJournalWriter, type JournalWriter, type JournalWriterOptions } from './writer.ts'
