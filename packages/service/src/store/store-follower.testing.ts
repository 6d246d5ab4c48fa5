import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { lineOf, type PlainRow } from './store-model.testing.ts'
import { rowsOf } from './store-rows.testing.ts'
import type { InstrumentRef, Store } from './store.ts'

/** How a process opens a reader of a store: a function of a module, and what to call it with. */
export type ReaderRecipe = {
  readonly module: string
  readonly name: string
  readonly argument: unknown
}

/** What the follower saw of one instrument at one moment. */
export type Sighting = {
  readonly key: string
  readonly count: number
  readonly digest: string
  /** What `latest` said right after: at least as new. */
  readonly latest: string
}

/** One number for any number of rows. */
export function digestOf(rows: readonly PlainRow[]): string {
  const hash = createHash('sha256')
  for (const row of rows) hash.update(lineOf(row))
  return hash.digest('hex')
}

// Run as a program: follows a store that another process writes to, until its input ends.
if (process.argv[1] === import.meta.filename) {
  const { recipe, refs } = JSON.parse(process.argv[2]!) as {
    recipe: ReaderRecipe
    refs: readonly InstrumentRef[]
  }
  const module = (await import(recipe.module)) as Record<
    string,
    (argument: unknown) => Store | Promise<Store>
  >
  const store = await module[recipe.name]!(recipe.argument)
  let ended = false
  process.stdin.on('end', () => (ended = true)).resume()
  for (let last = false; !last; await wait(1)) {
    last = ended
    for (const { venue, key } of refs) {
      const page = await store.books({ venue, key, order: 'asc', limit: 1_000_000 })
      const newest = await store.latest({ venue, key })
      const rows = rowsOf(page.runs)
      const sighting: Sighting = {
        key,
        count: rows.length,
        digest: digestOf(rows),
        latest: newest === undefined ? '' : lineOf(rowsOf([newest])[0]!),
      }
      writeSync(1, `${JSON.stringify(sighting)}\n`)
    }
  }
  await store.close()
}
