import { writeSync } from 'node:fs'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import type { TapePlatform } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { AppendBatch } from '../store.ts'
import { openEmbeddedStore } from './open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { batchAt, makeBatches } from './tape-batches.testing.ts'

// A child of the crash test: appends batches from where the store stands until it is killed, and says
// on stdout what it begins and what was acknowledged. Each line is in the pipe before work goes on.
const [file, ...numbers] = process.argv.slice(2) as [string, ...string[]]
const [seed, cycle, seals, killAt] = numbers.map(Number) as [number, number, number, number]
const say = (line: string): void => void writeSync(1, `${line}\n`)

// Packing hashes and compresses inside its transaction: a fixed call of it is a named point to die at.
function createDeadly(calls: number): TapePlatform {
  const platform = createNodePlatform(3)
  let left = calls
  const step = (): void => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL')
  }
  return {
    ...platform,
    compress(raw) {
      step()
      return platform.compress(raw)
    },
    sha256(parts) {
      step()
      return platform.sha256(parts)
    },
  }
}

const random = createRandom(seed * 1009 + cycle)
const began = performance.now()
const store = openEmbeddedStore({
  file,
  platform: createDeadly(killAt || Infinity),
  limits: { rows: 600, step: 200 },
})
say(`opened ${(performance.now() - began).toFixed(1)} ${store.repaired ?? ''}`)
const positions = await Promise.all(VENUE_IDS.map((venue) => store.appliedPosition(venue)))
const batches = makeBatches(seed, batchAt(Math.max(...positions)) + 1)
for (;;) {
  // Some alone, some in one group.
  const group = Array.from(
    { length: 1 + Math.floor(random() ** 2 * 5) },
    () => batches.next().value,
  )
  const append = async (batch: AppendBatch): Promise<void> => {
    await store.append(batch)
    say(`acknowledged ${batchAt(batch.position)}`)
  }
  say(`appending ${batchAt(group.at(-1)!.position)}`)
  await Promise.all(group.map(append))
  if (random() < seals) {
    say('sealing')
    await store.seal()
    say('sealed')
  }
}
