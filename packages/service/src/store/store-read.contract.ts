import type { MarketRecord } from '@priorbook/sdk/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ModelStore } from './store-model.testing.ts'
import { CALM, FULL, type OpenedStore } from './store-opened.testing.ts'
import { readStateTests } from './store-reading.testing.ts'
import { createRandom } from '../lib/random.testing.ts'
import { Script } from './store-script.testing.ts'
import type { Store } from './store.ts'

/** An engine that only reads, over what another one wrote and exported. */
type HostedStore = { readonly store: Store; destroy(): Promise<void> }

/** Exports a filled store and opens the export. */
type Host = (filled: Store) => Promise<HostedStore>

/**
 * The reading part of the contract, for read-only engines: `fill` opens a store of an engine that can
 * write, which is filled once for all hosts. `keep` says what of a market record an export keeps.
 */
export function describeReadContract(
  hosts: Readonly<Record<string, Host>>,
  fill: () => Promise<OpenedStore>,
  keep: (record: MarketRecord) => MarketRecord,
): void {
  const script = new Script(21, { calm: CALM.key, frames: 40 })
  const model = new ModelStore(script.books)
  const exported = new ModelStore(script.books)
  let opened: OpenedStore

  beforeAll(async () => {
    opened = await fill()
    for (let round = 0; round < (FULL ? 30 : 8); round++) {
      const batches = script.take(70)
      await Promise.all(batches.map((batch) => opened.store.append(batch)))
      for (const batch of batches) model.apply(batch)
      if (round % 4 === 1) await opened.store.seal()
    }
    keepExported(model, exported, keep)
  })
  afterAll(() => opened.destroy())

  describe.each(Object.entries(hosts))('%s store, read only', (_name, host) => {
    let hosted: HostedStore
    beforeAll(async () => {
      hosted = await host(opened.store)
    })
    afterAll(() => hosted.destroy())

    readStateTests(exported, createRandom(22), () => hosted.store)

    test('nothing can be written', async () => {
      const { store } = hosted
      const [batch] = script.take(1)
      await expect(store.append(batch!)).rejects.toMatchObject({ code: 'store_read_only' })
      await expect(store.seal()).rejects.toMatchObject({ code: 'store_read_only' })
      await expect(store.retain(0)).rejects.toMatchObject({ code: 'store_read_only' })
      expect(await (await store.follow()).poll()).toBeUndefined()
    })
  })
}

/** What of a model an export keeps: rows, gaps without their journal, and the newest market records. */
function keepExported(
  model: ModelStore,
  into: ModelStore,
  keep: (record: MarketRecord) => MarketRecord,
): void {
  for (const name of ['books', 'trades', 'samples'] as const) {
    for (const [key, rows] of model[name]) into[name].set(key, rows as never)
  }
  for (const gap of model.listGaps({})) {
    const { endJournal: _endJournal, ...kept } = gap
    into.addGap({ ...kept, journal: 0 })
  }
  for (const [name, states] of model.markets) {
    const { record, knownAt } = states.at(-1)!
    into.markets.set(name, [{ record: keep(record), knownAt, revision: 1, journal: 1 }])
  }
}
