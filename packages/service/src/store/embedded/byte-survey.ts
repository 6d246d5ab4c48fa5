import type { Database } from './database.ts'
import type { KeptPlace } from './kept.ts'

/** What some chunks take: in the database, in packs there, and in other storage; and how many book rows they hold. */
export type ByteSurveyStep = {
  readonly tape: number
  readonly packed: number
  readonly elsewhere: number
  readonly observations: number
  /** Where the next step goes on; absent after the last. */
  readonly next: KeptPlace | undefined
}

// Bounds a step: an append waits for it.
const STEP_ROWS = 1024
const PACKED = 3

type SurveyRow = KeptPlace & {
  readonly bytes: number
  readonly form: number
  readonly away: number
  readonly observations: number
}

/** Adds up the next chunks of a tape. */
export function surveyBytes(database: Database, after: KeptPlace): ByteSurveyStep {
  const rows = database.all(
    `SELECT chunk.stream AS stream, chunk.first AS first, form, cold.body IS NOT NULL AS away,
       CASE stream.kind WHEN 0 THEN count ELSE 0 END AS observations,
       coalesce(length(bytes), cold.length, 0) * 1.0 / CASE form WHEN ${PACKED}
         THEN (SELECT count(*) FROM chunk own WHERE own.body = chunk.body) ELSE 1 END AS bytes
     FROM chunk JOIN stream ON stream.id = chunk.stream
       LEFT JOIN body ON body.id = chunk.body LEFT JOIN cold ON cold.body = chunk.body
     WHERE (chunk.stream, chunk.first) > (?, ?) ORDER BY chunk.stream, chunk.first LIMIT ?`,
    after.stream,
    after.first,
    STEP_ROWS,
  ) as unknown as readonly SurveyRow[]
  const sum = { tape: 0, packed: 0, elsewhere: 0, observations: 0 }
  for (const { form, away, bytes, observations } of rows) {
    sum[away === 1 ? 'elsewhere' : form === PACKED ? 'packed' : 'tape'] += bytes
    sum.observations += observations
  }
  const last = rows.length < STEP_ROWS ? undefined : rows.at(-1)
  return { ...sum, next: last && { stream: last.stream, first: last.first } }
}
