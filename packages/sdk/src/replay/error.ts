import { PriorbookError, type ErrorCode } from '../domain/index.ts'

/** Where a replay was when it had to stop. */
export type ReplayPlace = {
  /** The file, address or socket. */
  readonly source: string
  /** The byte in it at which reading failed, where there is one. */
  readonly offset?: number | undefined
  /** What of the source was whole up to there. */
  readonly read?: { readonly chunks: number; readonly rows: number } | undefined
}

/**
 * Why a replay stopped, with the place in its source. `told` says how many events were told before and
 * up to which received time: they are right, and none after them is missing in between.
 */
export class ReplayError extends PriorbookError {
  readonly place: ReplayPlace
  told: { readonly events: number; readonly at: number | undefined } = { events: 0, at: undefined }

  constructor(code: ErrorCode, detail: string, place: ReplayPlace, cause?: unknown) {
    super(code, `${describePlace(place)}: ${detail}`, cause === undefined ? {} : { cause })
    this.name = 'ReplayError'
    this.place = place
  }
}

/** Gives an error of reading its place; errors that are not about the data pass. */
export function placeError(error: unknown, place: ReplayPlace): unknown {
  if (error instanceof ReplayError || !(error instanceof PriorbookError)) return error
  return new ReplayError(error.code, error.message, place, error)
}

function describePlace({ source, offset, read }: ReplayPlace): string {
  const at = offset === undefined ? '' : ` at byte ${offset}`
  const whole = read === undefined ? '' : `, after ${read.chunks} chunks with ${read.rows} rows`
  return `${source}${at}${whole}`
}
