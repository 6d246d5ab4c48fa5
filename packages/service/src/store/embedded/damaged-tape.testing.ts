import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppendBatch } from '../store.ts'
import { openEmbeddedStore } from './open.ts'
import { makeBatches } from './tape-batches.testing.ts'
import type { SealLimits } from './writer.ts'

/** The bytes of a store's files as a machine would find them again. */
export type TapeFiles = { readonly name: string; readonly db: Buffer; readonly wal?: Buffer }

/** Stores in the three states that files can be left in, all made of the same batches. */
export type Tapes = {
  readonly batches: readonly AppendBatch[]
  readonly files: readonly TapeFiles[]
}

/** How many batches to make, and when to pack them. */
export type TapePlan = {
  readonly seed: number
  readonly batches: number
  /** Batches before an explicit seal; venue A is silent afterwards, so its parts stay tight. */
  readonly sealedAfter: number
  readonly limits: Partial<SealLimits>
}

/** Makes sealed chunks, tight and loose parts, log batches, and everything beside them. */
export async function makeTapes(folder: string, plan: TapePlan): Promise<Tapes> {
  const file = join(folder, 'tape.db')
  const store = openEmbeddedStore({ file, limits: plan.limits })
  const batches: AppendBatch[] = []
  for (const batch of makeBatches(plan.seed, 1, 68)) {
    if (batches.length === plan.batches) break
    if (batches.length > plan.sealedAfter && batch.venue === 'venuea') continue
    await store.append(batch)
    batches.push(batch)
    if (batches.length === plan.sealedAfter) await store.seal()
  }
  const read = (name: string): TapeFiles => ({
    name,
    db: readFileSync(file),
    ...(existsSync(`${file}-wal`) ? { wal: readFileSync(`${file}-wal`) } : {}),
  })
  const logged = read('not closed')
  const other = new DatabaseSync(file)
  other.exec('PRAGMA wal_checkpoint(FULL)')
  const checkpointed = read('checkpointed, not closed')
  other.close()
  await store.close()
  return { batches, files: [read('closed'), logged, checkpointed] }
}

/** What was done to which file. */
export type Damage = { readonly what: string; readonly inWal: boolean }

/** Writes files with one damage: a flipped bit or a cut, anywhere, half of the flips where rows are found. */
export function writeDamaged(
  folder: string,
  files: TapeFiles,
  random: () => number,
): Damage & { readonly file: string } {
  const inWal = files.wal !== undefined && random() < 0.6
  const good = inWal ? files.wal : files.db
  const pick = (below: number): number => Math.floor(random() * below)
  let bad: Buffer
  let what: string
  if (random() < 0.15) {
    const length = pick(good.length)
    bad = good.subarray(0, random() < 0.5 ? length : length - (length % 1024))
    what = `${bad.length} of ${good.length} bytes left`
  } else {
    bad = Buffer.from(good)
    const structure = inWal ? [] : pagesOfTrees(good)
    const page = structure[pick(structure.length)]
    const at = page === undefined || random() < 0.5 ? pick(good.length) : page * 1024 + pick(1024)
    const bit = pick(8)
    bad[at]! ^= 1 << bit
    what = `bit ${bit} of byte ${at} (page ${Math.floor(at / 1024) + 1}) flipped`
  }
  const file = writeTape(folder, { ...files, [inWal ? 'wal' : 'db']: bad })
  return { what: `${files.name}: ${inWal ? 'wal' : 'db'}: ${what}`, inWal, file }
}

/** Writes files into an empty folder and returns the name of the database. */
export function writeTape(folder: string, files: TapeFiles): string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const file = join(folder, 'tape.db')
  writeFileSync(file, files.db)
  if (files.wal !== undefined) writeFileSync(`${file}-wal`, files.wal)
  return file
}

// Pages of SQLite's trees start with one of four bytes; the rest are long bodies and free pages.
function pagesOfTrees(bytes: Buffer): number[] {
  const pages = [0]
  for (let page = 1; page * 1024 < bytes.length; page++) {
    if ([2, 5, 10, 13].includes(bytes[page * 1024]!)) pages.push(page)
  }
  return pages
}
