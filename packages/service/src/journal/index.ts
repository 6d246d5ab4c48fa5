/** The journal: raw upstream messages exactly as received, synced, from which all else is derived again. */
export { readJournal, readRecord, type JournalRange } from './reader.ts'
export { MAX_RECORD_BYTES, MAX_SLOT } from './record.ts'
export type {
  DamageReason,
  JournalBlock,
  JournalDamage,
  JournalRecord,
  RecordKind,
} from './record.ts'
export { removeSegmentsBefore, type RemovedSegments } from './retention.ts'
export { journalStats, type JournalStats, type SegmentStats } from './stats.ts'
export type { JournalRepair } from './tail.ts'
export { openJournalWriter, type JournalWriter, type JournalWriterOptions } from './writer.ts'
