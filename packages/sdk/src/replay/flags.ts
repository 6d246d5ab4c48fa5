import { FLAGS, PriorbookError, showValue } from '../domain/index.ts'
import { TRUNCATED } from '../wire/index.ts'

/**
 * In the 16 bits of a chunk, the mark of a book that its source cut (NDJSON shows at most 100 levels of
 * venue B, or as many as `depth` says). The tape itself never has it.
 */
export const CUT_BOOK = 0x8000

/** The flags that an event shows: those of the tape, and `TRUNCATED` of the wire for a cut book. */
export function shownFlags(bits: number): number {
  return bits < CUT_BOOK ? bits : (bits & (CUT_BOOK - 1)) | TRUNCATED
}

/** The bits of the names of flags on the wire. */
export function flagsOf(value: unknown): number {
  if (!Array.isArray(value)) throw new PriorbookError('invalid_line', 'a row has no flags')
  let bits = 0
  for (const name of value as unknown[]) {
    if (name === 'truncated') bits |= CUT_BOOK
    else if (typeof name === 'string' && Object.hasOwn(FLAGS, name)) {
      bits |= FLAGS[name as keyof typeof FLAGS]
    } else throw new PriorbookError('invalid_line', `${showValue(name)} is no flag of a row`)
  }
  return bits
}
