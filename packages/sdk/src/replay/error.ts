import { PriorbookError, type ErrorCode } from '../domain/index.ts'

/** Where in its sources a replay stopped. */
export type ReplayPlace = {
  /** The file, address or socket. */
  readonly source: string
  /** The byte offset at which reading failed. */
  readonly offset?: number | undefined
  /** Chunks and rows read completely before it. */
  readonly read?: { readonly chunks: number; readonly rows: number } | undefined
}

/**
 * Why a replay stopped, with the place in its source. The `emitted` events, up to their last received
 * time, are correct and complete.
 */
export class ReplayError extends PriorbookError {
  readonly place: ReplayPlace
  emitted: { readonly events: number; readonly at: number | undefined } = {
    events: 0,
    at: undefined,
  }

  constructor(code: ErrorCode, detail: string, place: ReplayPlace, cause?: unknown) {
    super(code, `${describePlace(place)}: ${detail}`, cause === undefined ? {} : { cause })
    this.name = 'ReplayError'
    this.place = place
  }
}

/** Adds the place to an error about the data; other errors pass unchanged. */
export function placeError(error: unknown, place: ReplayPlace): unknown {
  if (error instanceof ReplayError || !(error instanceof PriorbookError)) return error
  return new ReplayError(error.code, error.message, place, error)
}

function describePlace({ source, offset, read }: ReplayPlace): string {
  const at = offset === undefined ? '' : ` at byte ${offset}`
  const before = read === undefined ? '' : `, after ${read.chunks} chunks with ${read.rows} rows`
  return `${source}${at}${before}`
}
