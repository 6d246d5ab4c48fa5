import { isAscii } from 'node:buffer'
import { PriorbookError } from '@priorbook/sdk/domain'

// Venues nest less than ten levels. JSON.parse needs 50 bytes and more for every level, so that 32 MB of
// brackets would take gigabytes, and JSON.stringify of what it parsed fails beyond some thousand levels.
// A short message cannot nest deeply enough to matter.
const MAX_DEPTH = 64
const MIN_SCANNED_BYTES = 1024

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the JSON of a message; throws where it is not JSON, or nested too deeply to be one. */
export function parseMessageJson(bytes: Uint8Array): unknown {
  if (bytes.length >= MIN_SCANNED_BYTES && isTooDeep(bytes)) {
    throw new PriorbookError('invalid_line', `it is nested deeper than ${MAX_DEPTH} levels`)
  }
  try {
    // Messages are ASCII except for titles; decoding ASCII as Latin-1 takes half the time.
    const text = isAscii(bytes)
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
      : decoder.decode(bytes)
    return JSON.parse(text)
  } catch (cause) {
    throw new PriorbookError('invalid_line', 'it is not JSON', { cause })
  }
}

/** Parses the JSON of a message; undefined where `parseMessageJson` throws. */
export function tryParseMessageJson(bytes: Uint8Array): unknown {
  try {
    return parseMessageJson(bytes)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return false
}
