import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'

/** Returns a value nested deeper than any recursion can go. */
export function deepValue(): unknown {
  return JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))
}

/** Returns the code that a call fails with, or `none`; rethrows an error without a code. */
export function codeOf(call: () => unknown): ErrorCode | 'none' {
  try {
    call()
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
  return 'none'
}
