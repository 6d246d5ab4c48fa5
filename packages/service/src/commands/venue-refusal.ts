import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'

/** An error as processes tell it to each other; `code` is absent where it is none of ours. */
export type Refusal = { readonly code?: ErrorCode | undefined; readonly message: string }

/** What to tell of an error. */
export function toRefusal(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof PriorbookError ? { code: error.code, message } : { message }
}

/** The error that another process told. */
export function fromRefusal({ code, message }: Refusal): Error {
  return code === undefined ? new Error(message) : new PriorbookError(code, message)
}
