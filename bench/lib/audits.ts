import { createAuditor } from '../../packages/service/src/derive/audit.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { CpuSum } from './cpu-sum.ts'
import { quantile, rounded } from './measure.ts'
import { createRandom } from './random.ts'
import { COLD_CACHE_BYTES } from './store-plan.ts'

const AUDITS = 300
// The first ones compile the code.
const WARM_UP = 50

/**
 * The time to derive one row of a tape again from its journal and to compare both: of random rows, markets weighted by
 * their rows, without decoded chunks in memory.
 */
export async function measureAudits(
  tape: string,
  journal: string,
): Promise<{ readonly medianMs: number; readonly p99Ms: number; readonly cpuMs: number }> {
  const store = openEmbeddedStore({ file: tape, readOnly: true, cacheBytes: COLD_CACHE_BYTES })
  const audit = createAuditor(store, journal)
  const books = (await store.instruments()).filter(({ lastSequence }) => lastSequence > 0)
  const rows = books.reduce((sum, { lastSequence }) => sum + lastSequence, 0)
  const random = createRandom(13)
  const times: number[] = []
  const cpu = new CpuSum()
  for (let round = 0; round < WARM_UP + AUDITS; round++) {
    let place = random.integer(1, rows)
    const { instrument } = books.find(({ lastSequence }) => {
      if (place <= lastSequence) return true
      place -= lastSequence
      return false
    })!
    const { venue, key } = instrument
    const target = { venue, key, kind: 'book', sequence: place } as const
    const start = performance.now()
    const report = round < WARM_UP ? await audit(target) : await cpu.measure(() => audit(target))
    if (round >= WARM_UP) times.push(performance.now() - start)
    if (report?.state !== 'equal') {
      throw new Error(`row ${place} of ${key} is ${report?.state ?? 'not stored'}`)
    }
  }
  await store.close()
  return {
    medianMs: rounded(quantile(times, 0.5)),
    p99Ms: rounded(quantile(times, 0.99)),
    cpuMs: rounded(cpu.meanMs),
  }
}
