import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../lib/random.testing.ts'
import { moveAll } from '../cold/cold-store.testing.ts'
import { complaintsOf, inspectStore, NO_COMPLAINTS } from '../inspect.testing.ts'
import type { EmbeddedStore } from '../open.ts'
import { sealedTape } from '../sealed-tape.testing.ts'
import type { TapeFolder } from '../tape-folder.testing.ts'
import { packAll } from './packing-store.testing.ts'

const { oracle, copy: copyTape } = sealedTape()

// What a disk may do to an entry of the directory.
const HARMS = [
  'UPDATE chunk SET first = first + 1',
  'DELETE FROM chunk',
  'UPDATE chunk SET body = body + 100000',
  'UPDATE chunk SET count = count + 1',
  'UPDATE chunk SET stream = stream - 100000',
  'UPDATE chunk SET form = 2',
  'UPDATE chunk SET first = first + 1000000',
  'UPDATE chunk SET last_received = last_received - 1',
  'UPDATE chunk SET form = 77',
  'UPDATE chunk SET sum = sum + 1',
]

type Packed = { readonly stream: number; readonly first: number; readonly count: number }

/** Damages one entry of three packs out of four, each in another way; gives the rows that lost theirs. */
function harm(tape: TapeFolder): string[] {
  const packs = tape.sql('SELECT DISTINCT body FROM chunk WHERE form = 3 ORDER BY body')
  return packs.flatMap(({ body }, at) => {
    if (at % 4 === 3) return []
    const sql = 'SELECT stream, first, count FROM chunk WHERE body = ? ORDER BY first'
    const chunks = tape.sql(sql, Number(body)) as Packed[]
    const { stream, first, count } = chunks[[1, 0, chunks.length - 1][at % 3]!]!
    tape.sql(`${HARMS[at % HARMS.length]} WHERE stream = ? AND first = ?`, stream, first)
    return [`rows ${first}–${first + count - 1}`]
  })
}

async function sealedOf(store: EmbeddedStore): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (let step = await store.readSealed(); step !== undefined; step = await store.readSealed()) {
    for (const { venue, key, kind, metric, first, ...rest } of step.chunks) {
      found.set([venue, key, kind, metric, first].join(' '), JSON.stringify(rest))
    }
    await store.forgetSealed(step)
  }
  return found
}

const count = (tape: TapeFolder, table: string): unknown =>
  tape.sql(`SELECT count(*) AS loose FROM ${table} NOT IN (SELECT body FROM chunk)`)[0]

describe.each(['in the database', 'in other storage'])(
  'a pack %s with a damaged entry',
  (place) => {
    async function openHarmed(): Promise<{
      tape: TapeFolder
      writer: EmbeddedStore
      harmed: string[]
      objects: string
    }> {
      const tape = copyTape()
      const packer = tape.open()
      const objects = join(dirname(tape.file), 'objects')
      expect((await packAll(packer)).packs).toBeGreaterThan(3)
      if (place === 'in other storage') await moveAll(packer, objects)
      await packer.close()
      const harmed = harm(tape)
      return { tape, writer: tape.open(), harmed, objects }
    }

    test('is read with a gap in place of the rows, and verify names them', async () => {
      const { tape, writer, harmed } = await openHarmed()
      const reader = tape.open({ readOnly: true })
      const { wrong, lost, errors, covered } = await inspectStore(reader, oracle, createRandom(3))
      expect({ wrong, lost, errors }).toEqual({ wrong: [], lost: [], errors: [] })
      expect(covered).toBeGreaterThan(0)
      const { problems } = await writer.verify()
      const named = problems.map(({ where }) => where.slice(where.indexOf('rows')))
      expect(harmed.filter((rows) => !named.includes(rows))).toEqual([])
      for (const { instrument } of await writer.instruments())
        await writer.scrubInstrument(instrument)
      expect((await writer.gaps({ reason: 'corrupt' })).length).toBeGreaterThan(0)
    })

    test('puts no wrong hash into the root of a day', async () => {
      const { writer } = await openHarmed()
      const truth = await sealedOf(copyTape().open())
      const told = await sealedOf(writer)
      expect(told.size).toBeGreaterThan(0)
      expect([...told].filter(([name, chunk]) => truth.get(name) !== chunk)).toEqual([])
    })

    test('keeps no other pack from leaving, and a rebuilt tape takes its place', async () => {
      const { writer, objects } = await openHarmed()
      await packAll(writer)
      await moveAll(writer, objects)
      expect(await moveAll(writer, objects)).toMatchObject({ segments: 0 })
      const adopted = await writer.adopt(copyTape().file, Date.now() * 1000)
      expect(adopted.length).toBeGreaterThan(0)
      const findings = await inspectStore(writer, oracle, createRandom(4))
      expect(complaintsOf(findings)).toEqual(NO_COMPLAINTS)
    })

    test('goes with retention, and leaves no bytes behind', async () => {
      const { tape, writer } = await openHarmed()
      const facts = await writer.instruments()
      const middle = Math.max(...facts.map(({ lastReceived }) => lastReceived)) - 400_000_000
      for (const before of [middle, Number.MAX_SAFE_INTEGER]) {
        await writer.retain(before)
        expect(count(tape, 'body WHERE id')).toEqual({ loose: 0 })
        expect(count(tape, 'cold WHERE body')).toEqual({ loose: 0 })
      }
    })
  },
)
