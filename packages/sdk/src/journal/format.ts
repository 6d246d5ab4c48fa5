/** The byte format of journals, for programs that write or repair them. Needs Node. */
export {
  BLOCK_HEADER_BYTES,
  FILE_HEADER_BYTES,
  parseRecorder,
  printSegmentName,
  toChecksumSeed,
  toFileHeader,
  writeBlockHeader,
  type BlockHeader,
  type FileHeader,
  type FormatVersion,
} from './record.ts'
export {
  compressPayload,
  PAYLOAD_OVERHEAD_BYTES,
  RECORD_OVERHEAD_BYTES,
  toKindCode,
  toPayload,
} from './payload.ts'
export { parseAway, printAway, type AwayFile, type ReadAway } from './away.ts'
export {
  awayPath,
  listSegments,
  openSegment,
  readAway,
  toReadError,
  walkBlocks,
  type BadPiece,
  type Segment,
  type SegmentName,
} from './segments.ts'
export { readSegmentBlocks } from './reader.ts'
export { countSegment, segmentStats } from './stats.ts'
export { toTemplatePayload } from './templates/encode.ts'
export type { Columns } from './columns.ts'
