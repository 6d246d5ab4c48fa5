/** Reads journals: raw upstream messages exactly as received. Needs Node. */
export {
  readJournal,
  readRecord,
  readRecords,
  type FoundRecords,
  type JournalPlace,
  type JournalRange,
} from './reader.ts'
export { MAX_RECORD_BYTES, MAX_SLOT } from './record.ts'
export type {
  DamageReason,
  JournalBlock,
  JournalDamage,
  JournalRecord,
  RecordKind,
  SegmentStats,
} from './record.ts'
export { journalStats, type JournalStats } from './stats.ts'
