import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import type { Store } from '../store.ts'
import { makeBatches, positionOf, venueOf } from './tape-batches.testing.ts'

// A child of the sync test: opens stores whose source says another `synchronous` than it does, and
// measures how much of what was acknowledged had not reached the disk.
const [folder, mode] = process.argv.slice(2) as [string, string]

// The control is the store itself, one word of its source changed on the way in: no seam in it.
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/embedded/database.ts')) return loaded
    const source = Buffer.from(loaded.source as Uint8Array).toString()
    const parts = source.split('PRAGMA synchronous = FULL')
    if (parts.length !== 2) throw new Error('database.ts does not set synchronous = FULL once')
    return { ...loaded, source: parts.join(`PRAGMA synchronous = ${mode}`) }
  },
})
const { openEmbeddedStore } = await import('./open.ts')

// Linux counts bytes that were written and then cut off before they reached the disk: none after a sync.
function cutOff(file: string): number {
  const before = cancelledBytes()
  truncateSync(file, 0)
  return cancelledBytes() - before
}

function cancelledBytes(): number {
  const io = readFileSync('/proc/self/io', 'utf8')
  return Number(/^cancelled_write_bytes: (\d+)$/m.exec(io)?.[1])
}

/** How much was not synced when a promise resolved, and up to which batch the files had everything. */
type Measured = { readonly unsynced: number; readonly stored: number }

async function measure(
  name: string,
  write: (store: Store) => Promise<number>,
  ending = '-wal',
  rows = 100_000,
): Promise<Measured> {
  const file = join(folder, name, 'tape.db')
  const store = openEmbeddedStore({ file, limits: { rows, step: rows } })
  const last = await write(store)
  // The same turn of the loop: nothing else can have synced since.
  const copy = join(folder, `${name}-copy`, 'tape.db')
  mkdirSync(join(copy, '..'))
  copyFileSync(file, copy)
  copyFileSync(`${file}-wal`, `${copy}-wal`)
  const unsynced = cutOff(`${file}${ending}`)
  const found = openEmbeddedStore({ file: copy, readOnly: true })
  const position = await found.appliedPosition(venueOf(last))
  await found.close()
  return { unsynced, stored: position === positionOf(last) ? last : 0 }
}

const batches = makeBatches(3)
const next = () => batches.next().value
const measured = {
  one: await measure('one', async (store) => {
    await store.append(next())
    return 1
  }),
  group: await measure('group', async (store) => {
    const appends = Array.from({ length: 5 }, () => store.append(next()))
    // The first of a group is waited for: no later sync can have helped it.
    await appends[0]
    return 6
  }),
  packing: await measure(
    'packing',
    async (store) => {
      for (let count = 0; count < 6; count++) await store.append(next())
      return 12
    },
    '-wal',
    100,
  ),
  // An explicit seal empties the log into the database, which must be on the disk before that.
  seal: await measure(
    'seal',
    async (store) => {
      for (let count = 0; count < 3; count++) await store.append(next())
      await store.seal()
      return 15
    },
    '',
  ),
}
writeSync(1, JSON.stringify(measured))
// The cut stores are still open: closing would only write into them.
process.kill(process.pid, 'SIGKILL')
