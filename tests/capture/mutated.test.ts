import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type VenueId } from '@priorbook/sdk/domain'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { countOf } from './emulated-home.ts'
import { feedMutated } from './feed-mutated.ts'
import { gatherCorpus, type HeardMessage } from './message-corpus.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

const COUNT = countOf(300_000, 4_000)
const CORPUS_MS = 3_000
const GROWTH_BYTES = 64 * 1024 * 1024

/** The refusals that were met, of any venue: some have few messages with times. */
const met = new Set<string>()

let corpus: ReadonlyMap<VenueId, readonly HeardMessage[]>

beforeAll(async () => {
  corpus = await gatherCorpus(CORPUS_MS)
}, 180_000)

describe('mutated messages', () => {
  test.each(EMULATED_VENUES)(`of %s, ${COUNT} of them, neither crash nor poison`, async (venue) => {
    const folder = mkdtempSync(join(tmpdir(), 'priorbook-mutated-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    onTestFinished(() => store.close())
    const report = await feedMutated(store, venue, corpus.get(venue)!, COUNT)
    const { mutated, quarantined, codes, disagreements, memory } = report
    expect(disagreements).toEqual([])
    // There were books to poison.
    for (const code of codes) met.add(code)
    expect(quarantined).toBeGreaterThan(mutated / 5)
    const { problems, observations } = await store.verify()
    expect(problems).toEqual([])
    expect(observations).toBeGreaterThan(COUNT / 100)
    const grown = memory.end - memory.quarter
    expect(grown).toBeLessThan(GROWTH_BYTES)
    console.log(
      `${venue}: ${mutated} mutated messages, ${quarantined} in quarantine (${[...codes].sort().join(', ')}), ${observations} rows sound, memory grew by ${(grown / 1048576).toFixed(1)} MB`,
    )
  })

  test('are refused for most kinds of reasons', () => {
    const wanted = ['invalid_line', 'invalid_message', 'invalid_decimal', 'invalid_time']
    expect(wanted.filter((code) => !met.has(code))).toEqual([])
  })
})
