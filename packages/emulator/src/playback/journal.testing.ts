import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toMicros, type VenueId } from '@priorbook/sdk/domain'
import type { RecordKind } from '@priorbook/sdk/journal'
import {
  BLOCK_HEADER_BYTES,
  printSegmentName,
  toChecksumSeed,
  toFileHeader,
  toKindCode,
  toPayload,
  writeBlockHeader,
} from '@priorbook/sdk/journal/format'

/** A record of a journal that a test writes; `received` is in microseconds. */
export type WrittenRecord = {
  readonly received: number
  readonly kind: RecordKind
  readonly slot: number
  readonly text: string
}

const FIRST = 1
const SEGMENT = 7

/** Writes a journal of one file with one uncompressed block. */
export function writeJournal(dir: string, venue: VenueId, records: readonly WrittenRecord[]): void {
  const origin = 'live'
  const recorder = 'r1'
  const texts = records.map(({ text }) => Buffer.from(text))
  const times = records.map(({ received }) => received)
  const bytes = Buffer.concat(texts)
  const payload = toPayload({
    recorder,
    count: records.length,
    received: Float64Array.from(times),
    kinds: Uint8Array.from(records, ({ kind, slot }) => toKindCode(kind, slot)),
    lengths: Uint32Array.from(texts, ({ length }) => length),
    used: bytes.length,
    bytes,
  })
  const block = Buffer.concat([Buffer.alloc(BLOCK_HEADER_BYTES), payload])
  writeBlockHeader(
    block,
    {
      segment: SEGMENT,
      count: records.length,
      rawBytes: payload.length,
      codec: 'raw',
      origin,
      first: FIRST,
      firstReceived: toMicros(times[0]!),
      lastReceived: toMicros(times.at(-1)!),
      minReceived: toMicros(Math.min(...times)),
      maxReceived: toMicros(Math.max(...times)),
    },
    toChecksumSeed(venue, FIRST),
  )
  const header = toFileHeader({
    version: 1,
    venue,
    origin,
    recorder,
    first: FIRST,
    segment: SEGMENT,
  })
  mkdirSync(join(dir, venue), { recursive: true })
  writeFileSync(join(dir, venue, printSegmentName(FIRST)), Buffer.concat([header, block]))
}
