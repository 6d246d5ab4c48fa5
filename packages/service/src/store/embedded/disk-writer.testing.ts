import { spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import type { AppendBatch, Store } from '../store.ts'
import { inspectStore, type Findings } from './inspect.testing.ts'
import { openEmbeddedStore } from './open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { batchAt, makeBatches } from './tape-batches.testing.ts'
import { Oracle } from './tape-oracle.testing.ts'

// A child of the disk test: it runs under limits, in a private mount or without root's rights.
const [scenario, folder, seed] = process.argv.slice(2) as [string, string, string]
const file = join(folder, 'store', 'tape.db')
const ballast = join(folder, 'ballast')
const open = (): Store => openEmbeddedStore({ file, limits: { rows: 400, step: 150 } })

/** The listed code of an error; anything else is shown as it is. */
async function codeOf(work: () => Promise<unknown> | Store): Promise<string> {
  try {
    const result = await work()
    if (typeof result === 'object' && result !== null) await (result as Store).close()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}

function troubles({ wrong, lost, silent, errors, corruptGaps }: Findings): string[] {
  const gaps = corruptGaps > 0 ? [`${corruptGaps} corrupt gaps`] : []
  return [...wrong, ...lost, ...silent, ...errors, ...gaps].slice(0, 5)
}

/** Compares a store with the batches up to the one that it says it has. */
async function compare(store: Store): Promise<{ count: number; troubles: string[] }> {
  const positions = await Promise.all(VENUE_IDS.map((venue) => store.appliedPosition(venue)))
  const count = batchAt(Math.max(...positions))
  const oracle = new Oracle()
  const batches = makeBatches(Number(seed))
  for (let made = 0; made < count; made++) oracle.add(batches.next().value)
  const findings = await inspectStore(store, oracle, createRandom(1))
  const { problems } = await store.verify()
  return { count, troubles: [...troubles(findings), ...problems.map(({ detail }) => detail)] }
}

async function compareReadOnly(): Promise<{ count: number; troubles: string[] }> {
  const store = openEmbeddedStore({ file, readOnly: true })
  const result = await compare(store)
  await store.close()
  return result
}

/** The same look by another process. */
function compareElsewhere(): unknown {
  const args = [import.meta.filename, 'read', folder, seed]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return stderr === '' ? JSON.parse(stdout) : stderr
}

/** Appends until it fails; several at a time now and then. */
async function fill(
  store: Store,
): Promise<{ codes: string[]; stored: number; left: AppendBatch[] }> {
  const batches = makeBatches(Number(seed))
  const random = createRandom(Number(seed))
  let stored = 0
  for (;;) {
    const group = Array.from({ length: 1 + Math.floor(random() * 3) }, () => batches.next().value)
    const codes = await Promise.all(group.map((batch) => codeOf(() => store.append(batch))))
    stored += codes.filter((code) => code === 'none').length
    const left = group.filter((_, index) => codes[index] !== 'none')
    if (left.length > 0) return { codes: codes.filter((code) => code !== 'none'), stored, left }
  }
}

/** Tries batches again one at a time, as their writer would, and stops at the first that fails. */
async function appendInTurn(store: Store, batches: readonly AppendBatch[]): Promise<string[]> {
  const codes: string[] = []
  for (const batch of batches) {
    codes.push(await codeOf(() => store.append(batch)))
    if (codes.at(-1) !== 'none') break
  }
  return codes
}

const scenarios: Record<string, () => Promise<unknown>> = {
  read: compareReadOnly,

  /** No file may grow beyond a limit. */
  async limit() {
    const store = open()
    const { codes, stored, left } = await fill(store)
    const again = await appendInTurn(store, left)
    return { codes, stored, again, here: await compare(store), elsewhere: compareElsewhere() }
  },

  /** A full file system, then space again. */
  async full() {
    writeFileSync(ballast, Buffer.alloc(600_000))
    const store = open()
    const { codes, stored, left } = await fill(store)
    const again = await appendInTurn(store, left)
    const here = await compare(store)
    const elsewhere = compareElsewhere()
    rmSync(ballast)
    const after = await appendInTurn(store, left)
    const seal = await codeOf(async () => void (await store.seal()))
    await store.close()
    const reopened = open()
    const end = await compare(reopened)
    await reopened.close()
    const remount = spawnSync('mount', ['-o', 'remount,ro', folder]).status
    const readOnly = await codeOf(open)
    return { codes, stored, again, here, elsewhere, after, seal, end, remount, readOnly }
  },

  /** Files and folders that must not be written; root may write anywhere, so it becomes nobody. */
  async permissions() {
    if (process.getuid!() === 0) process.setuid!(65_534)
    const home = join(file, '..')
    const allow = (mode: number): void => {
      for (const name of readdirSync(home)) chmodSync(join(home, name), mode)
    }
    const store = open()
    await store.append(makeBatches(Number(seed)).next().value)
    await store.close()
    chmodSync(file, 0o444)
    const databaseOnly = await codeOf(open)
    allow(0o444)
    const files = await codeOf(open)
    const readFiles = await compareReadOnly()
    chmodSync(home, 0o555)
    const folderToo = await codeOf(open)
    allow(0o644)
    const folderOnly = await codeOf(open)
    const elsewhere = await codeOf(() => openEmbeddedStore({ file: join(home, 'new', 'tape.db') }))
    const handle = openEmbeddedStore({ file, readOnly: true })
    const append = await codeOf(() => handle.append(makeBatches(1).next().value))
    const readFolder = await compare(handle)
    await handle.close()
    chmodSync(home, 0o755)
    const healed = await codeOf(open)
    return {
      refused: { databaseOnly, files, folderToo, folderOnly, elsewhere, append },
      read: { readFiles, readFolder },
      healed,
    }
  },
}

writeSync(1, JSON.stringify(await scenarios[scenario]!()))
