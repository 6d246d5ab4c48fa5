/**
 * Rows a second of a replay at full speed into nothing, from sealed chunks on one core:
 * `PRIORBOOK_RECORDINGS=… npx node packages/service/src/api/replay/replay.bench.ts`; without recordings
 * books are invented. The time is the processor's: neighbours on the same machine do not count.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { toDataFolder } from '../../lib/data-folder.ts'
import { importRecordings } from '../../derive/import.ts'
import { findRecordings } from '../../derive/merge-recordings.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { makeMarket } from '../bulk/generated-market.testing.ts'
import { createContext, open } from './replay.testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-replay-bench-'))
const data = toDataFolder(folder)
const store = openEmbeddedStore({ file: data.tape })
try {
  const busiest = await fill(store)
  await store.seal()
  const one = [{ venue: 'venueb', market_id: busiest }]
  const all = [{ venue: 'venueb' }]
  console.log('markets  mode          rows        MB  k rows/s     MB/s  loop p99 ms   RSS MB')
  for (const [name, markets] of [
    ['one', one],
    ['all', all],
  ] as const) {
    for (const mode of ['full', 'changes'] as const) console.log(await measure(name, markets, mode))
  }
} finally {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}

async function measure(
  name: string,
  markets: readonly object[],
  mode: 'full' | 'changes',
): Promise<string> {
  let best = Infinity
  let bytes = 0
  let count = 0
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  for (let turn = 0; turn < 3; turn++) {
    const start = process.cpuUsage()
    bytes = 0
    count = 0
    const sink = {
      send(message: string | Uint8Array) {
        bytes += message.length
        count++
        return true
      },
      drained: () => Promise.resolve(),
    }
    const replay = await open(createContext(store), { markets, mode }, sink)
    await replay.ended
    if (replay.failure !== undefined) throw replay.failure
    const { user, system } = process.cpuUsage(start)
    best = Math.min(best, (user + system) / 1000)
  }
  delay.disable()
  return [
    name.padEnd(8),
    mode.padEnd(8),
    String(count).padStart(10),
    (bytes / 1e6).toFixed(1).padStart(10),
    (count / best).toFixed(0).padStart(10),
    (bytes / 1e3 / best).toFixed(0).padStart(9),
    (delay.percentile(99) / 1e6).toFixed(1).padStart(13),
    (process.memoryUsage().rss / 1e6).toFixed(0).padStart(9),
  ].join(' ')
}

async function fill(into: EmbeddedStore): Promise<string> {
  const recordings = process.env['PRIORBOOK_RECORDINGS']
  if (recordings === undefined) {
    for (const batch of makeMarket(200_000)) await into.append(batch)
    return 'KXMADE-1'
  }
  const { files } = findRecordings([join(recordings, 'venueb', 'ws-gold15m')])
  await importRecordings({ store: into, journalDir: data.journal, files })
  const busy = (await into.instruments('venueb')).toSorted(
    (a, b) => b.lastSequence - a.lastSequence,
  )[0]!
  return busy.instrument.market
}
