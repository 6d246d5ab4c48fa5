import { join } from 'node:path'
import { toMicros, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import type { RecordKind } from '@priorbook/sdk/journal'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareStores } from '../derive/rebuild.ts'
import { openJournalWriter } from '../journal/index.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { VENUE_A_CASES } from '../venues/venuea/frames.testing.ts'
import { VENUE_B_CASES } from '../venues/venueb/frames.testing.ts'
import { VENUE_C_CASES } from '../venues/venuec/frames.testing.ts'
import { catchUp } from './catch-up.ts'
import { createDataFolder, differences, read, record, START_MS } from './scripted.testing.ts'

// Another seed tries other records.
const SEED = Number(process.env['PRIORBOOK_HOSTILE_SEED'] ?? 20_261_116)
const RUNS = Number(process.env['PRIORBOOK_HOSTILE_RUNS'] ?? 15)

const CASES: Partial<Record<VenueId, typeof VENUE_A_CASES>> = {
  venuea: VENUE_A_CASES,
  venueb: VENUE_B_CASES,
  venuec: VENUE_C_CASES,
}

const NOTES: readonly string[] = [
  '{"note":"connected","slot":1,"url":"ws://x"}',
  '{"note":"connected","slot":300,"url":"ws://x"}',
  '{"note":"loss","reason":"disconnect","why":"x","slot":1}',
  '{"note":"loss","reason":"disconnected","why":"x","slot":300}',
  '{"note":"loss","reason":"sequence_break","why":"x","slot":1,"sid":2,"keys":["a","b"]}',
  '{"note":"failed","request":{"kind":"x"},"why":"y"}',
  '{"note":"clock","offset_us":-1500,"round_trip_us":300,"step_us":1000}',
  '{"note":"file_imported","sha256":"00","lines":7}',
  '{"note":"broken_line","reason":"cut"}',
  '{"note":"feed_lost","reason":"quota","why":"x"}',
  '{"note":"request","request":{"kind":"event"}}',
  '{"note":"started","version":"1"}',
  '{"note":"stopped"}',
  '{"note":"disk_full","refused":3}',
  '{"note":"backfill","family":"BTC:5m","reached":1790000000000000,"topic_id":5}',
]

// Values that stand in for one value of a record's JSON text.
const REPLACEMENTS: readonly string[] = [
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '0',
  '-1',
  '1e308',
  '-100000000',
  '100000000000',
  '9007199254740991',
  '-9007199254740991',
  '90071992547409930',
  '4503599627370496',
  '"9007199254740991"',
  '"0.00000001"',
  '"-0.5"',
  '"1"',
  '"constructor"',
  '[[["x"]]]',
  '"\\u0000"',
  '"\\ud800"',
  `"${'k'.repeat(5000)}"`,
  '{"a":{"b":[1,2,{"c":null}]}}',
  `${'['.repeat(6000)}${']'.repeat(6000)}`,
  `{"a":${'['.repeat(300)}${']'.repeat(300)}}`,
]

// A value of JSON text: what stands after a colon, a comma or a bracket.
const VALUE = /(?<=[:,[]\s*)(?:"[^"]*"|-?\d+(?:\.\d+)?|true|false|null)/gu

type Hostile = { readonly kind: RecordKind; readonly slot: number; readonly text: string }

function hostileRecords(venue: VenueId): fc.Arbitrary<readonly Hostile[]> {
  const cases = CASES[venue] ?? []
  const mutated = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .tuple(text, fc.array(fc.tuple(fc.nat(), fc.constantFrom(...REPLACEMENTS)), { maxLength: 2 }))
      .map(([original, changes]) => {
        let changed = original
        for (const [at, replacement] of changes) {
          const places = [...changed.matchAll(VALUE)]
          const place = places[at % Math.max(1, places.length)]
          if (place === undefined) continue
          const end = place.index + place[0].length
          changed = changed.slice(0, place.index) + replacement + changed.slice(end)
        }
        return changed
      })
  const note = mutated(fc.constantFrom(...NOTES)).map((text): Hostile[] => [
    { kind: 'note', slot: 0, text },
  ])
  const message = fc.constantFrom(...cases).chain(({ request, text }) =>
    mutated(fc.constant(text)).map((changed): Hostile[] =>
      request === undefined
        ? [{ kind: 'message', slot: 1, text: changed }]
        : [
            { kind: 'note', slot: 0, text: JSON.stringify({ note: 'request', request }) },
            { kind: 'message', slot: 0, text: changed },
          ],
    ),
  )
  const noise = fc
    .tuple(fc.constantFrom('note' as const, 'message' as const), fc.nat(3), fc.string())
    .map(([kind, slot, text]): Hostile[] => [{ kind, slot: kind === 'note' ? 0 : slot, text }])
  const one = fc.oneof(
    { weight: 3, arbitrary: note },
    { weight: 6, arbitrary: message },
    { weight: 1, arbitrary: noise },
  )
  return fc.array(one, { minLength: 5, maxLength: 40 }).map((records) => records.flat())
}

describe('a journal with records of any content', () => {
  it.each(Object.keys(CASES) as VenueId[])(
    'of %s never stops a start or a rebuild',
    async (venue) => {
      await fc.assert(
        fc.asyncProperty(hostileRecords(venue), fc.nat(), async (records, cut) => {
          const data = createDataFolder()
          const writer = openJournalWriter({
            dir: data.journal,
            venue,
            origin: 'emulator',
            recorder: 'r1',
            acknowledged: 0,
          })
          let received = START_MS * 1000
          for (const { kind, slot, text } of records) {
            writer.append(toMicros((received += 1000)), kind, Buffer.from(text), slot)
          }
          writer.close()

          // Stopped and started again in the middle, then once more from nothing.
          const first = openEmbeddedStore({ file: data.tape })
          await catchUp(first, data.journal, venue, undefined, 1 + (cut % records.length))
          await first.close()
          const again = openEmbeddedStore({ file: data.tape })
          await catchUp(again, data.journal, venue)
          await again.seal()
          const rebuilt = openEmbeddedStore({ file: join(data.path, 'rebuilt.db') })
          await catchUp(rebuilt, data.journal, venue)
          await rebuilt.seal()
          expect((await compareStores(again, rebuilt)).differences).toEqual([])
          expect(await again.appliedPosition(venue)).toBeGreaterThan(records.length - 2)
          await rebuilt.close()
          await again.close()
        }),
        { numRuns: RUNS, seed: SEED },
      )
    },
  )
})

describe('a note about a socket number that cannot exist', () => {
  it('is quarantined, so that a restart behind it changes nothing', async () => {
    const venue = 'venuec'
    const answer = VENUE_C_CASES.find(({ request }) => request?.kind === 'clob_book')!
    const records = [
      ['note', '{"note":"connected","slot":300,"url":"ws://x"}'],
      ['note', JSON.stringify({ note: 'request', request: answer.request })],
      ['message', answer.text],
      ['note', '{"note":"loss","reason":"disconnected","why":"x","slot":300}'],
    ] as const
    const data = createDataFolder()
    const journal = { dir: data.journal, venue, origin: 'emulator', recorder: 'r1' } as const
    const writer = openJournalWriter({ ...journal, acknowledged: 0 })
    for (const [index, [kind, text]] of records.entries()) {
      writer.append(toMicros((START_MS + index) * 1000), kind, Buffer.from(text))
    }
    writer.close()
    const first = openEmbeddedStore({ file: data.tape })
    await catchUp(first, data.journal, venue, undefined, 3)
    expect((await first.instruments(venue)).length).toBe(1)
    await first.close()
    const again = openEmbeddedStore({ file: data.tape })
    await catchUp(again, data.journal, venue)
    const rebuilt = openEmbeddedStore({ file: join(data.path, 'rebuilt.db') })
    await catchUp(rebuilt, data.journal, venue)
    expect((await compareStores(again, rebuilt)).differences).toEqual([])
    expect(await again.quarantine({ limit: 10 })).toHaveLength(2)
    await rebuilt.close()
    await again.close()
  })
})

describe('a clock that is more than 90 s off', () => {
  it.each([100_000_000, -100_000_000, Number.MAX_SAFE_INTEGER])(
    'by %d µs is quarantined, and the recorder goes on and starts again',
    async (offset) => {
      const data = createDataFolder()
      const venue = VENUE_IDS[0]
      const clock = { note: 'clock', offset_us: offset, round_trip_us: 300, step_us: 1000 } as const
      await record(data, venue, async (script) => {
        script.note(clock)
        await script.stored()
        script.note({ ...clock, offset_us: 5 })
      })
      await record(data, venue, (script) => script.note({ ...clock, offset_us: 6 }), {
        fresh: false,
      })
      expect(await differences(data)).toEqual([])
      await read(data, async (store) => {
        const refused = await store.quarantine({ limit: 10 })
        expect(refused.map(({ code, key }) => `${code} ${key}`)).toEqual(['unrepresentable clock'])
        const { rows } = await store.samples({
          venue,
          key: 'clock',
          metric: 'clock_offset_us',
          order: 'asc',
          limit: 10,
        })
        expect(rows.count).toBe(2)
      })
    },
  )
})
