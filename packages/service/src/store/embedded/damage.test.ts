import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ERROR_CODES, PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import type { AppendBatch, Store } from '../store.ts'
import { makeTapes, writeDamaged, writeTape, type Damage } from './damaged-tape.testing.ts'
import { inspectStore, type Findings } from './inspect.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from './open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { Oracle } from './tape-oracle.testing.ts'
import { countOf, createTempFolder } from './temp-folder.testing.ts'

const DAMAGES = countOf(300, 60)

/** How a damage came to light; `rolledBack` is a cut log, which ends at an earlier whole commit. */
const OUTCOMES = ['open', 'gap', 'error', 'verify', 'rolledBack', 'harmless'] as const
type Outcome = (typeof OUTCOMES)[number]

/** What must hold after some of the batches; made once for each count. */
class Truth {
  private readonly batches: readonly AppendBatch[]
  private readonly oracles = new Map<number, Oracle>()

  constructor(batches: readonly AppendBatch[]) {
    this.batches = batches
  }

  get all(): Oracle {
    return this.after(this.batches.length)
  }

  /** The state that a store says it is in. A log that was cut holds fewer batches, but whole ones. */
  async claimedBy(store: Store): Promise<Oracle> {
    const positions = await Promise.all(VENUE_IDS.map((venue) => store.appliedPosition(venue)))
    const last = Math.max(...positions)
    return this.after(this.batches.findIndex(({ position }) => position === last) + 1)
  }

  private after(count: number): Oracle {
    let oracle = this.oracles.get(count)
    if (oracle === undefined) {
      oracle = new Oracle()
      for (const batch of this.batches.slice(0, count)) oracle.add(batch)
      this.oracles.set(count, oracle)
    }
    return oracle
  }
}

function openDamaged(file: string): EmbeddedStore | undefined {
  try {
    return openEmbeddedStore({ file, readOnly: true })
  } catch (error) {
    if (error instanceof PriorbookError && error.code in ERROR_CODES) return undefined
    throw error
  }
}

async function judge(file: string, damage: Damage, truth: Truth, seed: number): Promise<Outcome> {
  const store = openDamaged(file)
  if (store === undefined) return 'open'
  const claimed = damage.inWal ? await truth.claimedBy(store) : truth.all
  const findings = await inspectStore(store, claimed, createRandom(seed))
  const { problems } = await store.verify()
  await store.close()
  const { wrong, lost } = findings
  const outcome = outcomeOf(findings, problems.length)
  // `verify` must report every damage, whether a reader notices it or not; only harmless damage may pass.
  const unseen = problems.length > 0 || outcome === 'harmless' ? [] : ['verify saw nothing']
  const silent = problems.length > 0 ? [] : findings.silent
  const { what } = damage
  expect({ what, wrong, lost, silent, unseen }).toEqual({
    what,
    wrong: [],
    lost: [],
    silent: [],
    unseen: [],
  })
  return outcome === 'harmless' && claimed !== truth.all ? 'rolledBack' : outcome
}

function outcomeOf(findings: Findings, problems: number): Outcome {
  if (findings.corruptGaps > 0) return 'gap'
  if (findings.errors.length > 0) return 'error'
  return problems > 0 ? 'verify' : 'harmless'
}

describe('a damaged database', () => {
  test(
    `hands out no wrong row and hides none: ${DAMAGES} flipped bits and cuts`,
    { timeout: 600_000 },
    async () => {
      const folder = createTempFolder()
      const tapes = await makeTapes(join(folder, 'good'), {
        seed: 5,
        batches: countOf(230, 130),
        sealedAfter: countOf(150, 80),
        limits: { rows: 2500, step: 900 },
      })
      const truth = new Truth(tapes.batches)
      const bad = join(folder, 'bad')
      // First the proof that the comparison is one: undamaged files are equal in everything.
      for (const files of tapes.files) {
        const whole = { what: `${files.name}: undamaged`, inWal: false }
        expect(await judge(writeTape(bad, files), whole, truth, 0)).toBe('harmless')
      }
      const histogram = new Map(OUTCOMES.map((outcome) => [outcome, 0]))
      for (let seed = 0; seed < DAMAGES; seed++) {
        const files = tapes.files[seed % tapes.files.length]!
        const { file, ...damage } = writeDamaged(bad, files, createRandom(1000 + seed))
        const outcome = await judge(file, damage, truth, seed)
        histogram.set(outcome, histogram.get(outcome)! + 1)
      }
      const text = [...histogram].map(([outcome, count]) => `${outcome} ${count}`).join(', ')
      console.info(`${DAMAGES} damages, found by: ${text}`)
      expect(histogram.get('gap')).toBeGreaterThan(0)
      expect(histogram.get('open')).toBeGreaterThan(0)
    },
  )
})

describe('a damaged log', () => {
  type Harm = { readonly what: string; readonly sql: string }
  const flip = `UPDATE log SET bytes = CAST(substr(bytes, 1, 40) || x'55' || substr(bytes, 42) AS BLOB)`
  const harms = (first: number, last: number): Harm[] => [
    { what: 'the first batch', sql: `${flip} WHERE id = ${first}` },
    { what: 'a batch in the middle', sql: `${flip} WHERE id = ${(first + last) >> 1}` },
    { what: 'the last batch', sql: `${flip} WHERE id = ${last}` },
    { what: 'the first batch missing', sql: `DELETE FROM log WHERE id = ${first}` },
    { what: 'the last batch missing', sql: `DELETE FROM log WHERE id = ${last}` },
    { what: 'all batches missing', sql: 'DELETE FROM log' },
    { what: 'nothing', sql: '' },
  ]

  // Step 1 stops between two commits of a pass: some streams are packed, the log still has their rows.
  test.each([1, 300])('is cut off and derived again, packing %i rows a step', async (step) => {
    const folder = createTempFolder()
    const limits = { rows: 700, step }
    const plan = { seed: 6, batches: 80, sealedAfter: 40, limits }
    const tapes = await makeTapes(join(folder, 'good'), plan)
    const truth = new Truth(tapes.batches)
    const closed = tapes.files[0]!
    const bad = join(folder, 'bad')
    const ends = readEnds(writeTape(bad, closed))
    expect(ends.last - ends.first).toBeGreaterThan(3)
    for (const { what, sql } of harms(ends.first, ends.last)) {
      const file = writeTape(bad, closed)
      const raw = new DatabaseSync(file)
      raw.exec(sql)
      raw.close()
      const isHarmed = sql !== ''

      // A reader tells every stream's open end; it shows nothing beyond it.
      const reader = openEmbeddedStore({ file, readOnly: true })
      const seen = await inspectStore(reader, truth.all, createRandom(1))
      await reader.close()
      expect({ what, lost: seen.lost, wrong: seen.wrong, told: seen.corruptGaps > 0 }).toEqual({
        what,
        lost: [],
        wrong: [],
        told: isHarmed,
      })

      // The writer cuts, and the journal brings again what was cut: all of it, nothing twice.
      const cut = openEmbeddedStore({ file, limits })
      await cut.close()
      const writer = openEmbeddedStore({ file, limits })
      expect({ what, cut: cut.repaired !== undefined, again: writer.repaired }).toEqual({
        what,
        cut: isHarmed,
        again: undefined,
      })
      await appendMissing(writer, tapes.batches)
      const healed = await inspectStore(writer, truth.all, createRandom(2))
      const { problems } = await writer.verify()
      await writer.close()
      expect({ what, wrong: healed.wrong.slice(0, 3), isClean: healed.isClean, problems }).toEqual({
        what,
        wrong: [],
        isClean: true,
        problems: [],
      })
    }
    rmSync(bad, { recursive: true, force: true })
  })

  async function appendMissing(store: Store, batches: readonly AppendBatch[]): Promise<void> {
    const positions = new Map<string, number>()
    for (const venue of VENUE_IDS) positions.set(venue, await store.appliedPosition(venue))
    for (const batch of batches) {
      if (batch.position > positions.get(batch.venue)!) await store.append(batch)
    }
  }

  function readEnds(file: string): { first: number; last: number } {
    const raw = new DatabaseSync(file)
    const row = raw.prepare('SELECT min(id) AS first, max(id) AS last FROM log').get()
    raw.close()
    return row as { first: number; last: number }
  }
})
