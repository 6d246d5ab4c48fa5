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
} from './record.ts'
export {
  compressPayload,
  PAYLOAD_OVERHEAD_BYTES,
  RECORD_OVERHEAD_BYTES,
  toKindCode,
  toPayload,
} from './payload.ts'
export { listSegments, openSegment, toReadError, type SegmentName } from './segments.ts'
export { segmentStats } from './stats.ts'
export { walkBlocks, type BadPiece } from './segments.ts'
