import { PriorbookError } from '@priorbook/sdk/domain'

/** What `read` returns; undefined where it cannot read what the venue sent. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}
