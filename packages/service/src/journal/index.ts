/** Writes journals: raw upstream messages, synced before their rows, so that all rows can be derived again. */
export { removeSegmentsBefore, type RemovedSegments } from './retention.ts'
export type { JournalRepair } from './tail.ts'
export { openJournalWriter, type JournalWriter, type JournalWriterOptions } from './writer.ts'
