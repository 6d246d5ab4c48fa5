import { isDamage } from './bodies.ts'
import { storeWhole, wholeAtOrBefore } from './catalog.ts'
import type { Column, Database, Row } from './database.ts'
import type { RemovalOrder, RemovalStep } from './retention.ts'
import { cutRevisions } from './revision-cut.ts'

// Bounds of a step: an append waits for it.
const STEP_MARKETS = 512
const STEP_CUTS = 64

/**
 * Removes some versions of market records that were replaced by another one before a time; the version
 * that held at that time stays. Of a market whose record still changes, they go by the group that is
 * compressed together, so that nothing has to be written again.
 */
export function removeRevisions(database: Database, order: RemovalOrder): RemovalStep {
  const { after, venue = null, isDryRun = false } = order
  const end = endOfStep(database, after)
  const sum = { chunks: 0, rows: 0, bytes: 0 }
  let next = end
  const rows = database.all(
    `SELECT id, revisions, (SELECT min(ordinal) FROM revision WHERE market = market.id) AS first
     FROM market WHERE id > ? AND id <= ? AND (? IS NULL OR venue = ?) AND revisions > 1
     ORDER BY id`,
    after,
    end ?? Number.MAX_SAFE_INTEGER,
    venue,
    venue,
  )
  const cuts: Cut[] = []
  for (const row of rows) {
    const cut = findOld(database, row, order.before)
    if (cut === undefined) continue
    if (cuts.length === STEP_CUTS) {
      next = (row['id'] as number) - 1
      break
    }
    cuts.push(cut)
    const { count, bytes } = sizeOf(database, cut.id, cut.kept)
    sum.rows += count
    sum.bytes += bytes
  }
  if (!isDryRun && cuts.length > 0) {
    database.write(() => {
      for (const cut of cuts) cutMarket(database, cut)
    })
  }
  return { ...sum, next }
}

type Cut = { readonly id: number; readonly kept: number; readonly isLast: boolean }

function cutMarket(database: Database, { id, kept, isLast }: Cut): void {
  try {
    if (isLast) storeWhole(database, id, kept)
  } catch (error) {
    // A damaged record stays as it is: `verify` names it.
    if (isDamage(error)) return
    throw error
  }
  cutRevisions(database, id, kept)
}

function findOld(
  database: Database,
  { id, first, revisions }: Row,
  before: number,
): Cut | undefined {
  const [market, oldest, last] = [id, first, revisions] as [number, number | null, number]
  // Damage: `verify` names it.
  if (oldest === null || oldest >= last) return undefined
  const knownAt = (ordinal: number): number =>
    (database.get(
      'SELECT known_at FROM revision WHERE market = ? AND ordinal = ?',
      market,
      ordinal,
    )?.['known_at'] as number | undefined) ?? Infinity
  if (knownAt(oldest + 1) >= before) return undefined
  if (knownAt(last) < before) return { id: market, kept: last, isLast: true }
  const held = database.get(
    'SELECT max(ordinal) AS ordinal FROM revision WHERE market = ? AND known_at < ?',
    market,
    before,
  )?.['ordinal'] as number | null
  const kept = wholeAtOrBefore(held ?? 1)
  return kept > oldest ? { id: market, kept, isLast: false } : undefined
}

function sizeOf(
  database: Database,
  ...place: readonly [market: number, kept: number]
): { readonly count: number; readonly bytes: number } {
  const values: Column[] = [...place]
  return database.get(
    `SELECT count(*) AS count, coalesce(sum(length(body)), 0) AS bytes FROM revision
     WHERE market = ? AND ordinal < ?`,
    ...values,
  ) as { count: number; bytes: number }
}

/** The last market of a step after a market, by number; absent where it reaches the newest. */
export function endOfStep(database: Database, after: number): number | undefined {
  const row = database.get(
    'SELECT id FROM market WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
    after,
    STEP_MARKETS - 1,
  )
  return row?.['id'] as number | undefined
}
