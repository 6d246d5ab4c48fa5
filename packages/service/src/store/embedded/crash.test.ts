import { spawn } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import type { AppendBatch } from '../store.ts'
import { complaintsOf, inspectStore, NO_COMPLAINTS } from './inspect.testing.ts'
import { openEmbeddedStore } from './open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { batchAt, makeBatches } from './tape-batches.testing.ts'
import { Oracle } from './tape-oracle.testing.ts'
import { countOf, createTempFolder } from './temp-folder.testing.ts'

const CYCLES = countOf(100, 6)
// Cycles per store. Everything is compared after every kill.
const CYCLES_A_STORE = 12
const WAL_LIMIT = 128 * 1024 * 1024
const CHILD = join(import.meta.dirname, 'crash-writer.testing.ts')

/** What a killed writer had said. */
type Killed = {
  readonly acknowledged: number
  /** The last batch that may or may not be there. */
  readonly begun: number
  readonly duringSeal: boolean
  readonly openedMs: number
  readonly errors: string
}

/** When to kill: after a time, right after it said `sealing`, or at a call inside a packing transaction. */
type Plan = { readonly afterMs?: number; readonly sealMs?: number; readonly call?: number }

function planOf(cycle: number, random: () => number): Plan {
  switch (cycle % 3) {
    case 0:
      return { afterMs: 5 + random() * countOf(1500, 250) }
    case 1:
      return { sealMs: random() * 12 }
    default:
      return { call: 1 + Math.floor(random() * 400) }
  }
}

async function killWhileWriting(
  file: string,
  seed: number,
  cycle: number,
  plan: Plan,
): Promise<Killed> {
  // Without explicit seals the log and the WAL grow as far as they ever do.
  const seals = plan.afterMs === undefined ? 0.1 : 0
  const args = [CHILD, file, seed, cycle, seals, plan.call ?? 0].map(String)
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = (afterMs: number): void => void setTimeout(() => child.kill('SIGKILL'), afterMs)
  let printed = ''
  let errors = ''
  let isPlanned = plan.call !== undefined
  child.stderr.on('data', (chunk) => (errors += chunk))
  child.stdout.on('data', (chunk) => {
    printed += chunk
    if (isPlanned) return
    if (plan.sealMs === undefined || printed.includes('sealing')) {
      isPlanned = true
      kill(plan.sealMs ?? plan.afterMs!)
    }
  })
  await new Promise((resolve) => child.on('close', resolve))
  // A last line without its end was not said in full.
  const lines = printed.split('\n').slice(0, -1)
  const last = (word: string): number =>
    Number(lines.findLast((line) => line.startsWith(`${word} `))?.split(' ')[1] ?? 0)
  return {
    acknowledged: last('acknowledged'),
    begun: last('appending'),
    duringSeal: lines.lastIndexOf('sealing') > lines.lastIndexOf('sealed'),
    openedMs: last('opened'),
    errors,
  }
}

describe('kill -9 while appending and packing', () => {
  test(`loses, repeats and tears nothing in ${CYCLES} cycles`, { timeout: 600_000 }, async () => {
    const folder = createTempFolder()
    const random = createRandom(20_260_805)
    const wals: number[] = []
    const opened: number[] = []
    const counts = { batches: 0, unacknowledged: 0, duringSeal: 0 }
    let stored = new Stored(0)
    let file = ''
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      if (cycle % CYCLES_A_STORE === 0) {
        if (file !== '') rmSync(join(file, '..'), { recursive: true })
        stored = new Stored(cycle)
        file = join(folder, String(cycle), 'tape.db')
      }
      const plan = planOf(cycle, random)
      const killed = await killWhileWriting(file, stored.seed, cycle, plan)
      expect(killed.errors).toBe('')
      const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
      expect(wal).toBeLessThan(WAL_LIMIT)
      wals.push(wal)

      const began = performance.now()
      const store = openEmbeddedStore({ file })
      opened.push(performance.now() - began)
      expect(store.repaired).toBeUndefined()
      const positions = await Promise.all(VENUE_IDS.map((venue) => store.appliedPosition(venue)))
      const last = batchAt(Math.max(...positions))
      // All that was acknowledged; of the group that was on its way, all or nothing.
      const before = stored.count
      expect([Math.max(killed.acknowledged, before), killed.begun]).toContain(last)
      stored.growTo(last)
      counts.batches += last - before
      if (last > killed.acknowledged && last > before) counts.unacknowledged++
      if (killed.duringSeal) counts.duringSeal++
      const findings = await inspectStore(store, stored.oracle, createRandom(cycle))
      expect(complaintsOf(findings)).toEqual(NO_COMPLAINTS)
      expect((await store.verify()).problems).toEqual([])
      await store.close()
    }
    const rows = [...stored.oracle.books.values()].reduce((sum, { rows }) => sum + rows.count, 0)
    console.info(
      `${CYCLES} kills (${counts.duringSeal} inside seal()), ${counts.batches} batches, ` +
        `${counts.unacknowledged} times the last was there unacknowledged, ` +
        `last store ${rows} rows; opened after the kill in ${spread(opened)} ms, ` +
        `WAL ${spread(wals.map((bytes) => bytes / 1e6))} MB (median, highest)`,
    )
    expect(counts.batches).toBeGreaterThan(CYCLES)
  })
})

/** What the parent knows to be stored. */
class Stored {
  readonly seed: number
  readonly oracle = new Oracle()
  count = 0
  private readonly batches: Iterator<AppendBatch, never>

  constructor(seed: number) {
    this.seed = seed
    this.batches = makeBatches(seed)
  }

  growTo(count: number): void {
    while (this.count < count) {
      this.oracle.add(this.batches.next().value)
      this.count++
    }
  }
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  return `${sorted[Math.floor(sorted.length / 2)]!.toFixed(1)}, ${sorted.at(-1)!.toFixed(1)}`
}
