import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createQuotaMeter } from './quota-meter.ts'
import { openTruth, readTruth, type TruthEntry, type TruthEvent } from './truth.ts'

async function all(file: string): Promise<TruthEntry[]> {
  const entries: TruthEntry[] = []
  for await (const entry of readTruth(file)) entries.push(entry)
  return entries
}

describe('a quota meter', () => {
  it('counts in every window, not in fixed ones, and n times as much at speed n', () => {
    const meter = createQuotaMeter({ limit: 10, windowMs: 1_000 }, 2)
    expect(meter.spend(15, 0)).toBe(true)
    expect(meter.spend(5, 900)).toBe(true)
    expect(meter.spend(1, 999)).toBe(false)
    expect(meter.spend(15, 1_000)).toBe(true)
    expect(meter.spend(1, 1_899)).toBe(false)
    expect(meter.spend(5, 1_900)).toBe(true)
    expect(meter.use).toEqual({ limit: 20, windowMs: 1_000, peak: 21, requests: 6, refused: 2 })
  })

  it('agrees with counting everything, over thousands of requests', () => {
    const meter = createQuotaMeter({ limit: 50, windowMs: 100 }, 1)
    const admitted: { at: number; cost: number }[] = []
    for (let i = 0; i < 5_000; i++) {
      const at = i * 3
      const cost = 1 + ((i * 7) % 5)
      const used = admitted
        .filter((item) => item.at > at - 100)
        .reduce((sum, item) => sum + item.cost, 0)
      expect(meter.spend(cost, at)).toBe(used + cost <= 50)
      if (used + cost <= 50) admitted.push({ at, cost })
    }
  })
})

describe('the log of the truth', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'priorbook-truth-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const book = { bids: [{ price: 5200, size: 1_000_000 }], asks: [{ price: 5300, size: 20_000 }] }
  const event: TruthEvent = {
    type: 'frame',
    venue: 'venueb',
    connection: 'venueb-c1',
    delivered: 'sent',
    bytes: 4,
    payloads: [
      { kind: 'full', key: 'T', book, seq: 7 },
      { kind: 'trade', key: 'T', id: 'x', fill: { price: 5200, size: 10_000, taker: 'buy' } },
    ],
  }

  it('reads back what it wrote, more than one chunk of it', async () => {
    const file = join(folder, 'all.ndjson')
    const truth = openTruth({ file, memory: true, texts: 'full' })
    for (let i = 0; i < 5_000; i++) truth.note(event, 'text')
    truth.note({ type: 'market', venue: 'venueb', index: 1, keys: ['T'], phase: 'open' })
    truth.close()
    const read = await all(file)
    expect(read).toEqual(truth.entries)
    expect(read.length).toBe(5_001)
    expect(read[0]).toMatchObject({ ...event, text: 'text' })
  })

  it('leaves out books, keeps hashes, or keeps nothing at all', async () => {
    const file = join(folder, 'small.ndjson')
    const truth = openTruth({ file, books: false, texts: 'hash' })
    truth.note(event, 'text')
    truth.close()
    const [entry] = await all(file)
    expect(entry).toMatchObject({
      hash: '982d9e3eb996f559',
      payloads: [{ kind: 'full', seq: 7 }, {}],
    })
    expect(JSON.stringify(entry)).not.toContain('bids')
    const none = openTruth({})
    expect(none.wanted).toBe(false)
    none.note(event)
    none.close()
    expect(none.entries).toEqual([])
  })
})
