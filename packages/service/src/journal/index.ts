/** Writes journals: raw upstream messages, synced before their rows, so that all rows can be derived again. */
export { AWAY_FILE_BYTES, findAway, moveAway, type AwayOrder } from './move-away.ts'
export { fetchRecord, readJournal, readRecord } from './read.ts'
export {
  removeSegments,
  SegmentSizes,
  type KeptSegment,
  type RemovedSegments,
  type SegmentLimits,
} from './retention.ts'
export type { JournalRepair } from './tail.ts'
export { openJournalWriter, type JournalWriter, type JournalWriterOptions } from './writer.ts'
