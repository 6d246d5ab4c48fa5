import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'

/** A value nested deeper than any recursion reaches. */
export function deepValue(): unknown {
  return JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))
}

/** The code that a call fails with, or `none`; an error without a code passes through. */
export function codeOf(call: () => unknown): ErrorCode | 'none' {
  try {
    call()
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
  return 'none'
}
