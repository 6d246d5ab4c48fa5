import type { PriorbookError } from '@priorbook/sdk/domain'

/** One recorded frame, or the beginning of a new connection of a slot. */
export type Played =
  | { readonly kind: 'frame'; readonly at: number; readonly slot: number; readonly text: string }
  | { readonly kind: 'connected'; readonly at: number; readonly slot: number }

/** A part of a recording that cannot be played. */
export type PlaybackProblem = { readonly where: string; readonly error: PriorbookError }

/** Recorded frames in order of reception; `at` in microseconds. */
export type Source = AsyncIterable<Played> | Iterable<Played>
