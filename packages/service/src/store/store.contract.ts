import type { Micros, Sample, Trade } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectLatest, expectLines, expectStore } from './store-answers.testing.ts'
import { eventTests, gapTests, marketTests } from './store-catalogue.testing.ts'
import { followTests } from './store-following.testing.ts'
import { lineOf, ModelStore } from './store-model.testing.ts'
import {
  CALM,
  FULL,
  write,
  type Open,
  type OpenedStore,
  type OpenWritten,
} from './store-opened.testing.ts'
import { readTests } from './store-reading.testing.ts'
import { linesOfChunk } from './store-rows.testing.ts'
import { BEGIN, createRecord, INSTRUMENTS, mergeBatches, Script } from './store-script.testing.ts'
import { backupTests, readerTests, retentionTests } from './store-upkeep.testing.ts'
import type { AppendBatch, Store } from './store.ts'

/**
 * What every engine must do, written once. Engines should be opened with limits so small that sealed
 * chunks, parts and an unsealed tail exist side by side.
 */
export function describeStoreContract(name: string, openStore: () => Promise<OpenedStore>): void {
  const open = async (): Promise<OpenedStore> => {
    const opened = await openStore()
    onTestFinished(() => opened.destroy())
    return opened
  }
  /** A store that a script has been written to, and its model. */
  const openWritten = async (
    seed: number,
    batches: number,
  ): Promise<OpenedStore & { script: Script; model: ModelStore }> => {
    const opened = await open()
    const script = new Script(seed)
    const model = new ModelStore(script.books)
    await write(opened.store, model, script.take(batches))
    return { ...opened, script, model }
  }

  describe(`${name} store`, () => {
    describe('append', () => {
      appendTests(open, openWritten)
    })
    describe('seal', () => {
      sealTests(open)
    })
    describe('read', () => {
      readTests(openStore)
    })
    describe('markets', () => {
      marketTests(open)
      eventTests(open)
    })
    describe('gaps and coverage', () => {
      gapTests(open, openWritten)
    })
    describe('retention', () => {
      retentionTests(open)
    })
    describe('backup', () => {
      backupTests(openWritten)
    })
    describe('readers', () => {
      readerTests(open)
    })
    describe('followers', () => {
      followTests(open)
    })
    describe('anything in any order', () => {
      interleavingTests(openStore)
    })
  })
}

function appendTests(open: Open, openWritten: OpenWritten): void {
  test('an empty store answers everything with nothing', async () => {
    const { store } = await open()
    await expectStore(store, new ModelStore(new WeakMap()))
    const { venue, key } = CALM
    expect(await store.coverage({ venue, key })).toBeUndefined()
    expect(await store.asOf({ venue, key, at: BEGIN })).toEqual({})
    expect(await store.markets({ limit: 5 })).toEqual({ markets: [], hasMore: false })
    expect(await store.seal()).toEqual({ chunks: 0, rows: 0 })
    expect((await store.verify()).problems).toEqual([])
  })

  test('what was appended is there after opening again', async () => {
    const { store, model, reopen } = await openWritten(1, 60)
    await expectStore(store, model)
    const again = await reopen()
    await expectStore(again, model)
    expect((await again.verify()).problems).toEqual([])
  })

  test('the same batches again, alone or merged with new ones, add nothing twice', async () => {
    expect.hasAssertions()
    const { store, model, script, reopen } = await openWritten(2, 0)
    const batches = script.take(60)
    const [first, second] = [batches.slice(0, 40), batches.slice(40)]
    await write(store, model, first)
    for (const batch of first) await store.append(batch)
    await expectStore(store, model)
    const again = await reopen()
    for (const batch of first.toReversed()) await again.append(batch)
    await expectStore(again, model)
    // The recorder goes back a little after a restart: old and new rows come in one batch.
    for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
      const own = (list: AppendBatch[]): AppendBatch[] =>
        list.filter((batch) => batch.venue === venue)
      const overlapping = mergeBatches([...own(first).slice(-3), ...own(second)])
      await write(again, model, [overlapping])
      await again.append(overlapping)
    }
    await expectStore(again, model)
  })

  test('the stamp is another one after every batch, and the same without one', async () => {
    const { store } = await open()
    const script = new Script(23)
    const seen = new Set([await store.stamp()])
    for (const batch of script.take(12)) {
      await store.append(batch)
      const stamp = await store.stamp()
      expect(seen.has(stamp)).toBe(false)
      await store.markets({ limit: 5 })
      await store.latest(CALM)
      expect(await store.stamp()).toBe(stamp)
      seen.add(stamp)
    }
  })

  test('a batch without rows moves the applied position, facts stand beside it', async () => {
    const { store, reopen } = await open()
    const made = { venue: 'venueb', origin: 'live', recorder: 'r1', normalizer: 1 } as const
    await store.append({ ...made, position: 7, facts: { a: 1, zero: 0, large: 2 ** 53 - 1 } })
    await store.append({ ...made, position: 9, facts: { a: 2 } })
    await store.append({ ...made, position: 8, facts: { a: 3 } })
    const expectFacts = async (each: Store): Promise<void> => {
      expect(await each.appliedPosition('venueb')).toBe(9)
      expect(await each.appliedPosition('venuec')).toBe(0)
      expect(await each.fact('a')).toBe(2)
      expect(await each.fact('zero')).toBe(0)
      expect(await each.fact('large')).toBe(2 ** 53 - 1)
      expect(await each.fact('never')).toBeUndefined()
      expect([...(await each.facts(''))]).toEqual([
        ['a', 2],
        ['large', 2 ** 53 - 1],
        ['zero', 0],
      ])
      expect([...(await each.facts('la')).keys()]).toEqual(['large'])
      expect((await each.facts('b')).size).toBe(0)
    }
    await expectFacts(store)
    await expectFacts(await reopen())
  })

  test('a quarantined message is kept once, with its bytes', async () => {
    const { store, model, reopen } = await openWritten(3, 0)
    const message = (journal: number, code: 'crossed_book' | 'invalid_message') => ({
      venue: 'venuec' as const,
      key: '',
      journal,
      received: BEGIN + journal,
      code,
      detail: 'best bid above best ask',
      raw: Uint8Array.from({ length: 300 }, (_, index) => index & 255),
    })
    const made = { venue: 'venuec', origin: 'live', recorder: 'r1', normalizer: 1 } as const
    const batch = {
      ...made,
      position: 4,
      quarantine: [
        message(3, 'crossed_book'),
        message(3, 'invalid_message'),
        message(4, 'crossed_book'),
      ],
    }
    await write(store, model, [batch])
    await store.append({ ...batch, position: 5 })
    const again = await reopen()
    const all = await again.quarantine({ limit: 10 })
    expect(all.map(({ journal, code }) => `${journal} ${code}`)).toEqual([
      '3 crossed_book',
      '3 invalid_message',
      '4 crossed_book',
    ])
    expect(Buffer.from(all[0]!.raw).equals(batch.quarantine[0]!.raw)).toBe(true)
    const [one] = await again.quarantine({ limit: 1 })
    expect((await again.quarantine({ after: one!.id, limit: 10 })).length).toBe(2)
    expect(await again.quarantine({ venue: 'venuea', limit: 10 })).toEqual([])
    const newest = await again.quarantine({ order: 'desc', limit: 2 })
    expect(newest).toEqual([all[2], all[1]])
    const before = newest[1]!.id
    expect(await again.quarantine({ order: 'desc', after: before, limit: 9 })).toEqual([all[0]])
  })

  test('a batch that cannot be kept is refused as a whole', async () => {
    const { store, model, script, reopen } = await openWritten(4, 30)
    for (const bad of badBatches(script, model)) {
      await expect(store.append(bad.batch)).rejects.toMatchObject({ code: bad.code })
      await expectStore(store, model)
    }
    await write(store, model, script.take(10))
    await expectStore(store, model)
    await expectStore(await reopen(), model)
  })

  test('a refused batch leaves no trace of the instruments that it would have started', async () => {
    const { store, model, script, reopen } = await openWritten(8, 0)
    let refused = 0
    for (const batch of script.take(25)) {
      const last = batch.observations?.at(-1)
      if (last !== undefined) {
        const early = { ...last, received: last.received - 1 }
        const bad = { ...batch, observations: [...batch.observations!, early] }
        await store.append(bad).catch((error: { code: string }) => {
          refused += error.code === 'invalid_time' ? 1 : 0
        })
        await expectStore(store, model)
      }
      await write(store, model, [batch])
    }
    expect(refused).toBeGreaterThan(20)
    await expectStore(store, model)
    await expectStore(await reopen(), model)
  })

  test('of batches appended together a bad one fails alone', async () => {
    const { store, model, script, reopen } = await openWritten(5, 20)
    const bad = badBatches(script, model)[0]!.batch
    const good = script.take(12)
    const before = good.filter((batch) => batch.venue !== bad.venue)
    const after = good.filter((batch) => batch.venue === bad.venue)
    const results = await Promise.allSettled(
      [...before, bad, ...after].map((batch) => store.append(batch)),
    )
    const refused = results.map(({ status }) => status === 'rejected')
    expect(refused).toEqual([...before.map(() => false), true, ...after.map(() => false)])
    for (const batch of good) model.apply(batch)
    await expectStore(store, model)
    await expectStore(await reopen(), model)
  })

  test('appends that were asked for before the close are kept', async () => {
    expect.hasAssertions()
    const { store, model, script, reopen } = await openWritten(6, 5)
    const batches = script.take(5)
    const pending = Promise.all(batches.map((batch) => store.append(batch)))
    await store.close()
    await pending
    for (const batch of batches) model.apply(batch)
    await expectStore(await reopen(), model)
  })

  test('after the close every call is refused by name', async () => {
    const { store, script } = await openWritten(7, 3)
    await store.close()
    await store.close()
    const { venue, key } = CALM
    const calls: (() => Promise<unknown>)[] = [
      () => store.append(script.next()),
      () => store.seal(),
      () => store.stamp(),
      () => store.follow(),
      () => store.appliedPosition(venue),
      () => store.fact('a'),
      () => store.instrument({ venue, key }),
      () => store.latest({ venue, key }),
      () => store.books({ venue, key, order: 'asc', limit: 1 }),
      () => store.markets({ limit: 1 }),
      () => store.verify(),
      () => store.retain(0),
      () => store.backup('/nowhere/copy.db'),
      () => store.chunks({ venue, key })[Symbol.asyncIterator]().next(),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'store_closed' })
    }
  })
}

function sealTests(open: Open): void {
  test('sealing at any time changes no row and no answer', async () => {
    const { store, reopen } = await open()
    const script = new Script(11)
    const model = new ModelStore(script.books)
    let current = store
    for (let round = 0; round < 8; round++) {
      await write(current, model, script.take(script.whole(1, 12)))
      await expectStore(current, model)
      await current.seal()
      await expectStore(current, model)
      await current.seal()
      if (round % 3 === 2) current = await reopen()
    }
    await expectStore(current, model)
    expect((await current.verify()).problems).toEqual([])
  })

  test('finer ticks can come at any time, whatever has been read or sealed', async () => {
    expect.hasAssertions()
    for (let seed = 1; seed <= (FULL ? 60 : 3); seed++) {
      const { store, reopen } = await open()
      const script = new Script(100 + seed, { instruments: [CALM], frames: 3, finer: 0.1 })
      const model = new ModelStore(script.books)
      let current = store
      for (let round = 0; round < 16; round++) {
        await write(current, model, script.take(1))
        await expectLatest(current, model, CALM)
        if (script.chance(0.2)) await current.seal()
        if (script.chance(0.1)) current = await reopen()
      }
      await expectStore(current, model)
    }
  })

  test('chunks are a function of the rows, not of when they were sealed', async () => {
    const instruments = [CALM, INSTRUMENTS[3]!]
    const script = new Script(12, { instruments, calm: CALM.key, frames: 40 })
    const batches = script.take(FULL ? 600 : 80)
    const rare = await open()
    const often = await open()
    // Everything at once: chunks are cut out of more rows than one can hold.
    await Promise.all(batches.map((batch) => rare.store.append(batch)))
    for (const [index, batch] of batches.entries()) {
      await often.store.append(batch)
      if (index % 7 === 0) await often.store.seal()
    }
    await rare.store.seal()
    await often.store.seal()
    for (const { venue, key } of instruments) {
      const [one, other] = [
        await rare.store.instrument({ venue, key }),
        await often.store.instrument({ venue, key }),
      ]
      expect(one?.head).toBeDefined()
      expect(other).toEqual(one)
      const chunks = async (store: Store): Promise<string[]> => {
        const lines: string[] = []
        for await (const { kind, metric, first, count, sealed, bytes } of store.chunks({
          venue,
          key,
        })) {
          const body = Buffer.from(bytes).toString('base64')
          lines.push(`${kind} ${metric} ${first}+${count} ${sealed} ${body}`)
        }
        return lines
      }
      expectLines(await chunks(often.store), await chunks(rare.store))
    }
  })

  test('a walk over chunks while they are sealed hands out no other rows', async () => {
    expect.hasAssertions()
    const { store } = await open()
    const script = new Script(13)
    const model = new ModelStore(script.books)
    await write(store, model, script.take(60))
    await store.seal()
    for (const { venue, key } of INSTRUMENTS) {
      const before = model.rows({ venue, key }).length
      const lines: string[] = []
      for await (const chunk of store.chunks({ venue, key })) {
        // Reading its lines also compares what the chunk says of itself with where it was found.
        const own = linesOfChunk(chunk, { venue, key })
        if (chunk.kind === 'book') lines.push(...own)
        await write(store, model, script.take(3))
        await store.seal()
      }
      const all = model.rows({ venue, key }).map(lineOf)
      expectLines(lines, all.slice(0, Math.max(before, lines.length)))
    }
  })
}

function interleavingTests(openStore: () => Promise<OpenedStore>): void {
  type Step = { readonly act: (typeof ACTS)[number]; readonly count: number }
  const ACTS = [
    'append',
    'append',
    'append',
    'together',
    'again',
    'bad',
    'seal',
    'reopen',
    'read',
    'reader',
  ] as const

  test('equals the model', async () => {
    expect.hasAssertions()
    const steps = fc.array(
      fc.record({ act: fc.constantFrom(...ACTS), count: fc.integer({ min: 1, max: 9 }) }),
      { minLength: 4, maxLength: 22 },
    )
    const property = fc.asyncProperty(fc.nat(1_000_000), steps, run)
    await fc.assert(property, { seed: 81, numRuns: FULL ? 250 : 10, endOnFailure: !FULL })
  })

  const run = async (seed: number, steps: readonly Step[]): Promise<void> => {
    const opened = await openStore()
    try {
      const script = new Script(seed, { frames: 12 })
      const model = new ModelStore(script.books)
      const written: AppendBatch[] = []
      let store = opened.store
      let reader: Store | undefined
      for (const { act, count } of steps) {
        switch (act) {
          case 'append':
          case 'together': {
            const batches = script.take(count)
            written.push(...batches)
            if (act === 'append') await write(store, model, batches)
            else {
              await Promise.all(batches.map((batch) => store.append(batch)))
              for (const batch of batches) model.apply(batch)
            }
            break
          }
          case 'again':
            for (const batch of written.slice(-count)) await store.append(batch)
            break
          case 'bad':
            for (const { batch, code } of badBatches(script, model)) {
              await expect(store.append(batch)).rejects.toMatchObject({ code })
            }
            break
          case 'seal':
            await store.seal()
            break
          case 'reopen':
            store = await opened.reopen()
            break
          case 'read':
            await expectStore(store, model)
            break
          case 'reader':
            reader ??= await opened.openReader()
            await expectStore(reader, model)
            break
        }
        for (const ref of INSTRUMENTS) await expectLatest(store, model, ref)
      }
      await expectStore(store, model)
      if (reader !== undefined) await expectStore(reader, model)
      expect((await store.verify()).problems).toEqual([])
    } finally {
      await opened.destroy()
    }
  }
}

type Bad = { readonly code: string; readonly batch: AppendBatch }

/** Batches that hold good rows of every kind, also of new instruments, and one row that is not. */
function badBatches(script: Script, model: ModelStore): Bad[] {
  const bad: Bad[] = []
  for (const instrument of INSTRUMENTS) {
    const last = model.rows(instrument).at(-1)
    if (last === undefined) continue
    const { venue, key } = instrument
    const position = (model.applied.get(venue) ?? 0) + 1
    const fresh = { venue, market: 'NEW', key: 'NEW' }
    const received = (script.now + 10) as Micros
    const head = { received, journal: position }
    const row = {
      ...head,
      instrument,
      source: -1,
      venueSeq: -1,
      channel: -1,
      flags: 0,
      priceDecimals: 2,
      keys: [100],
      sizes: [5],
    }
    const trade: Trade = {
      ...head,
      kind: 'trade',
      instrument: fresh,
      tradeId: '1',
      price: 5000 as Trade['price'],
      size: 1 as Trade['size'],
    }
    const sample: Sample = { ...head, kind: 'sample', instrument, metric: 'chance', value: '0.5' }
    const good: AppendBatch = {
      venue,
      position,
      origin: 'live',
      recorder: 'r1',
      normalizer: 1,
      observations: [{ ...row, instrument: fresh, flags: 65 }, row],
      trades: [trade],
      samples: [sample],
      revisions: [{ ...head, kind: 'market', record: createRecord(fresh, '1') }],
      gaps: [
        {
          venue,
          scope: 'instrument',
          key,
          reason: 'quota',
          start: received,
          afterSequence: 1,
          journal: position,
        },
      ],
      quarantine: [
        {
          venue,
          key,
          journal: position,
          received,
          code: 'bad_size',
          detail: '',
          raw: new Uint8Array(1),
        },
      ],
      facts: { [`seen:${venue}`]: -1 },
    }
    const early = { ...row, received: last.received - 1 }
    const earlyTrade = { ...trade, received: (received - 1) as Micros }
    const earlySample = { ...sample, received: (received - 1) as Micros }
    bad.push(
      {
        code: 'invalid_time',
        batch: { ...good, observations: [...good.observations!, early] },
      },
      {
        code: 'invalid_time',
        batch: { ...good, observations: [row, { ...row, received: received - 1 }] },
      },
      { code: 'invalid_time', batch: { ...good, trades: [trade, earlyTrade] } },
      { code: 'invalid_time', batch: { ...good, samples: [sample, earlySample] } },
      {
        code: 'invalid_decimal',
        batch: { ...good, samples: [sample, { ...sample, value: 'high' }] },
      },
    )
  }
  return bad.slice(0, 10)
}
