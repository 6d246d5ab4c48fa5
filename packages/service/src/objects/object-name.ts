import { PriorbookError, showValue } from '@priorbook/sdk/domain'

/** How the temporary files of a folder begin; no part of a name begins so. */
export const TEMPORARY_PREFIX = '.putting-'

// File systems take 255 bytes for one part. S3 takes 1,024 bytes for a key: 255 for the prefix of the
// store, a slash, and the name.
const MAX_PART_BYTES = 255
const MAX_NAME_BYTES = 768

/** Throws `invalid_argument` unless it is a name that every store can keep. */
export function checkName(name: string): void {
  const why = whyNoName(name)
  if (why !== undefined) refuse('a name', name, why)
}

/** Throws `invalid_argument` unless names can begin like this: whole parts, then the start of one. */
export function checkPrefix(prefix: string): void {
  // With one more letter it has to be a name: the last part may be empty or dots so far.
  const why = typeof prefix === 'string' ? whyNoName(`${prefix}x`) : 'is no text'
  if (why !== undefined) refuse('a prefix', prefix, why)
}

/** Throws `invalid_argument` unless an object could have these bytes. */
export function checkRange(start: number, length: number): void {
  const isRange = start >= 0 && length >= 0 && Number.isSafeInteger(start + length)
  if (isRange && Number.isSafeInteger(start) && Number.isSafeInteger(length)) return
  const range = `${showValue(start)} and length ${showValue(length)}`
  throw new PriorbookError('invalid_argument', `no object has bytes from ${range}`)
}

/** Whether a store can keep an object of this name. */
export function isName(name: string): boolean {
  return whyNoName(name) === undefined
}

/** The order of names, in all stores: by their bytes in UTF-8. */
export function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function whyNoName(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'is no text'
  if (!name.isWellFormed()) return 'is not Unicode'
  // Windows takes a backslash for a slash.
  if (/[\0\\]/.test(name)) return 'contains NUL or a backslash'
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`
  for (const part of name.split('/')) {
    if (part === '') return 'is absolute or has an empty part'
    if (part === '.' || part === '..') return `has the part ${part}`
    if (part.startsWith(TEMPORARY_PREFIX)) return `has a part that begins with ${TEMPORARY_PREFIX}`
    if (Buffer.byteLength(part) > MAX_PART_BYTES) {
      return `has a part of more than ${MAX_PART_BYTES} bytes`
    }
  }
  return undefined
}

function refuse(what: string, name: unknown, why: string): never {
  throw new PriorbookError('invalid_argument', `${showValue(name)} is not ${what}: it ${why}`)
}
