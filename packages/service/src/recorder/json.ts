import { isAscii } from 'node:buffer'
import { PriorbookError, showValue } from '@priorbook/sdk/domain'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the JSON of a message; throws where it is not JSON. */
export function parseValue(bytes: Uint8Array): unknown {
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

/** Parses the JSON of a line or a note; throws where it is not an object. */
export function parseJson(bytes: Uint8Array): Record<string, unknown> {
  const value = parseValue(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PriorbookError('invalid_line', `it is ${showValue(value)}, not an object`)
  }
  return value as Record<string, unknown>
}
