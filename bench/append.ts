import { join } from 'node:path'
import type { BookChange, BookSnapshot } from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { benchInstrument, moveEvent } from './lib/feed.ts'

/**
 * Durable append through checks: events of `instruments` markets, one of each in turn, are assembled,
 * checked and appended in batches, each awaited (so each synced); packing included, also the last one.
 */
export async function measureAppend(
  folder: string,
  feeds: readonly (readonly (BookSnapshot | BookChange)[])[],
  instruments: number,
  batchSize: number,
  total: number,
): Promise<number> {
  const rounds = Math.floor(total / instruments)
  const events: (BookSnapshot | BookChange)[] = []
  const names = Array.from({ length: instruments }, (_, index) => benchInstrument(index))
  for (let round = 0; round < rounds; round++) {
    for (let index = 0; index < instruments; index++) {
      const event = feeds[index % feeds.length]![round]
      if (event !== undefined) events.push(moveEvent(event, names[index]!, events.length + 1))
    }
  }
  const assemblers = new Map(names.map((name) => [name, new BookAssembler(name)]))
  const store = openEmbeddedStore({ file: join(folder, `append-${instruments}.db`) })
  const start = performance.now()
  for (let from = 0; from < events.length; from += batchSize) {
    const observations: Observation[] = []
    const end = Math.min(events.length, from + batchSize)
    for (let index = from; index < end; index++) {
      const event = events[index]!
      const taken = assemblers.get(event.instrument)!.take(event)
      if ('violation' in taken) throw new Error(`${taken.violation}: ${taken.detail}`)
      observations.push(taken)
    }
    await store.append({
      venue: 'venueb',
      position: end,
      origin: 'import',
      recorder: 'bench',
      normalizer: 1,
      observations,
    })
  }
  await store.seal()
  const seconds = (performance.now() - start) / 1000
  const stored = (await store.instruments()).reduce((sum, facts) => sum + facts.lastSequence, 0)
  await store.close()
  if (stored !== events.length) throw new Error(`${stored} of ${events.length} rows are stored`)
  return events.length / seconds
}
