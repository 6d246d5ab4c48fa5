import { PriorbookError } from '@priorbook/sdk/domain'

/**
 * A place that keeps files by name: a bucket of object storage, or a folder. Names are relative, with `/`
 * between their parts. An object is written whole and never changed, only replaced by another whole one.
 *
 * Errors: `objects_unavailable` where the storage does not answer after retries, `objects_refused` where
 * the operator has to act (no such bucket, credentials, rights, no space), `object_missing` and
 * `object_damaged` where the storage answers and the bytes are not there.
 */
export type ObjectStore = {
  /** Where it is, for operators; without credentials. */
  readonly address: string
  /** The same as other programs write it, without a slash at its end: `s3://bucket/prefix` or `file:///path`. */
  readonly location: string
  /** Keeps an object durably, unless there is one of that name; true where it was written. */
  put(name: string, bytes: Uint8Array): Promise<boolean>
  /** Keeps an object durably in place of the one of that name, if any; readers see the old one or the new one. */
  replace(name: string, bytes: Uint8Array): Promise<void>
  /** The bytes from `start` on; `object_missing` without the object, `object_damaged` where it is shorter. */
  read(name: string, start: number, length: number): Promise<Uint8Array>
  /** The size of an object; undefined without it. */
  size(name: string): Promise<number | undefined>
  /** Removes an object; one that is not there is no error. */
  remove(name: string): Promise<void>
  /** The objects whose names begin with a prefix, in the order of their names. */
  list(prefix: string): AsyncGenerator<StoredObject, void, void>
}

/** One object of a list. */
export type StoredObject = { readonly name: string; readonly size: number }

/** True for errors that mean that the bytes are gone or wrong, not that they cannot be had now. */
export function isLost(error: unknown): error is PriorbookError {
  return (
    error instanceof PriorbookError &&
    (error.code === 'object_missing' || error.code === 'object_damaged')
  )
}
