import type { VenueId } from '@priorbook/sdk/domain'
import type { Database, Row } from './database.ts'

/** The parts of a tape that can be removed by age or size. */
export type TapeTier = 'tape' | 'quarantine' | 'markets'

/** Some bytes of a venue and the time of the newest row in them. */
type KeptPiece = {
  readonly venue: VenueId
  readonly received: number
  readonly bytes: number
}

/** Some of what a tape keeps, and where the next step goes on; absent after the last. */
export type KeptStep = {
  readonly pieces: readonly KeptPiece[]
  readonly next: KeptPlace | undefined
}

/** Where a walk over what is kept is. */
export type KeptPlace = { readonly stream: number; readonly first: number }

/** Where such a walk begins. */
export const KEPT_START: KeptPlace = { stream: 0, first: 0 }

// Bounds of a step: an append waits for it. The versions of a market's record are summed with it.
const STEP_ROWS = { tape: 256, quarantine: 256, markets: 32 } as const

/** Lists the sizes and times of some chunks, quarantined messages or market records. */
export function listKept(database: Database, tier: TapeTier, after: KeptPlace): KeptStep {
  const pieces = readPieces(database, tier, after) as unknown as readonly (KeptPiece & KeptPlace)[]
  const last = pieces.length < STEP_ROWS[tier] ? undefined : pieces.at(-1)
  return { pieces, next: last && { stream: last.stream, first: last.first } }
}

function readPieces(database: Database, tier: TapeTier, after: KeptPlace): Row[] {
  switch (tier) {
    case 'tape':
      return database.all(
        `SELECT chunk.stream AS stream, chunk.first AS first, venue, last_received AS received,
             coalesce(length(bytes), cold.length, 0) / CASE form WHEN 3
               THEN (SELECT count(*) FROM chunk own WHERE own.body = chunk.body) ELSE 1 END AS bytes
           FROM chunk JOIN stream ON stream.id = chunk.stream
             LEFT JOIN body ON body.id = chunk.body LEFT JOIN cold ON cold.body = chunk.body
           WHERE (chunk.stream, chunk.first) > (?, ?) ORDER BY chunk.stream, chunk.first LIMIT ?`,
        after.stream,
        after.first,
        STEP_ROWS[tier],
      )
    case 'quarantine':
      return database.all(
        `SELECT id AS stream, 0 AS first, venue, received, length(raw) + length(detail) AS bytes
         FROM quarantine WHERE id > ? ORDER BY id LIMIT ?`,
        after.stream,
        STEP_ROWS[tier],
      )
    case 'markets':
      return database.all(
        `SELECT id AS stream, 0 AS first, venue, coalesce(close_time, sort_time) AS received,
           (SELECT coalesce(sum(length(body)), 0) FROM revision WHERE market = market.id) AS bytes
         FROM market WHERE id > ? ORDER BY id LIMIT ?`,
        after.stream,
        STEP_ROWS[tier],
      )
  }
}
