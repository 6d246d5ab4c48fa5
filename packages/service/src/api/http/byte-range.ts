import type { IncomingHttpHeaders } from 'node:http'
import type { FileFacts, FinishedFile, KeptFile } from '../route.ts'
import { isKnown } from './response-tag.ts'

/** What of a finished file is sent. */
export type ByteRange =
  | {
      readonly status: 200
      readonly facts: FileFacts | undefined
      /** The bytes that have these facts; undefined: the file is made while it is sent. */
      readonly kept?: KeptFile | undefined
    }
  | { readonly status: 304; readonly facts: FileFacts }
  | {
      readonly status: 206
      readonly facts: FileFacts
      readonly kept: KeptFile
      /** The bytes [from, to). */
      readonly from: number
      readonly to: number
    }
  | { readonly status: 416; readonly facts: FileFacts }

/**
 * Decides what a request gets of a finished file (RFC 9110, sections 13 and 14). The file is made once to measure it
 * where that is needed: for a range, a condition and `HEAD`. Several ranges at once, and what is no range, mean the
 * whole file; so does a range of a file that is too large to be kept. Bytes are sent with an entity tag only where they
 * are those that were measured.
 */
export async function chooseByteRange(
  file: FinishedFile,
  method: string,
  headers: IncomingHttpHeaders,
): Promise<ByteRange> {
  const { range, 'if-none-match': known } = headers
  const condition = headers['if-range']?.toString()
  const asked = range === undefined ? undefined : parseByteRange(range)
  const isAbout = known !== undefined || method === 'HEAD'
  const facts = isAbout ? (file.known() ?? (await file.keep())?.facts) : undefined
  if (facts !== undefined && isKnown(known, tagOf(facts))) return { status: 304, facts }
  const kept = asked === undefined ? file.kept() : await file.keep()
  if (kept === undefined) return { status: 200, facts: method === 'HEAD' ? facts : undefined }
  if (asked === undefined) return { status: 200, facts: kept.facts, kept }
  const tag = tagOf(kept.facts)
  if (isKnown(known, tag)) return { status: 304, facts: kept.facts }
  // A time is no proof: two versions of a file may be made within one second.
  if (condition !== undefined && condition.trim() !== tag) {
    return { status: 200, facts: kept.facts, kept }
  }
  return cut(kept, asked)
}

function cut(kept: KeptFile, asked: AskedRange): ByteRange {
  const { facts } = kept
  const { bytes } = facts
  const from = asked.from ?? Math.max(0, bytes - asked.suffix)
  const to = asked.from === undefined ? bytes : Math.min(bytes, asked.to)
  if (from >= to) return { status: 416, facts }
  return { status: 206, facts, kept, from, to }
}

/** The entity tag of a file: the SHA-256 that its manifest names. */
export function tagOf({ sha256 }: FileFacts): string {
  return `"${sha256}"`
}

type AskedRange =
  | { readonly from: number; readonly to: number }
  | { readonly from?: undefined; readonly suffix: number }

/** Reads `bytes=0-99`, `bytes=100-` or `bytes=-100`; undefined for anything else. */
function parseByteRange(header: string): AskedRange | undefined {
  const [, first, last] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header.trim()) ?? []
  if (first === undefined || last === undefined) return undefined
  if (first === '') return last === '' ? undefined : { suffix: Number(last) }
  if (last === '') return { from: Number(first), to: Infinity }
  return Number(last) < Number(first) ? undefined : { from: Number(first), to: Number(last) + 1 }
}
