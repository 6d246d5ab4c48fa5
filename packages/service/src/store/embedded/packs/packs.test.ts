import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../lib/random.testing.ts'
import { moveAll } from '../cold/cold-store.testing.ts'
import { complaintsOf, inspectStore, NO_COMPLAINTS } from '../inspect.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../open.ts'
import { sealedTape } from '../sealed-tape.testing.ts'
import type { TapeFolder } from '../tape-folder.testing.ts'
import { packAll } from './packing-store.testing.ts'

const { oracle, copy: copyTape } = sealedTape()
const KILLS = process.env['PRIORBOOK_FULL'] === '1' ? 200 : 8

async function expectWhole(store: EmbeddedStore, seed = 1): Promise<void> {
  const findings = await inspectStore(store, oracle, createRandom(seed))
  expect(complaintsOf(findings)).toEqual(NO_COMPLAINTS)
}

/** All chunks with their bytes, as a download of the format `tape` sends them. */
async function chunksOf(store: EmbeddedStore): Promise<string[]> {
  const found: string[] = []
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const streams = new Set<string>()
    for await (const { kind, metric } of store.chunks(instrument)) streams.add(`${kind} ${metric}`)
    for (const stream of streams) {
      const [kind, metric] = stream.split(' ') as ['book', string]
      const query = { venue, key, kind, metric, start: 0, end: Infinity }
      for await (const { first, count, sealed, bytes } of store.chunksOfRange(query)) {
        const text = Buffer.from(bytes!).toString('base64')
        found.push([key, stream, first, count, sealed, text].join(' '))
      }
    }
  }
  return found
}

async function sealedOf(store: EmbeddedStore): Promise<string[]> {
  const found: string[] = []
  for (let step = await store.readSealed(); step !== undefined; step = await store.readSealed()) {
    found.push(...step.chunks.map((chunk) => JSON.stringify(chunk)))
    await store.forgetSealed(step)
  }
  return found
}

/** Bytes and chunks of all bodies, counted without code of ours. */
function countBodies(tape: TapeFolder): { bodies: number; bytes: number; packed: number } {
  const [body] = tape.sql('SELECT count(*) AS bodies, sum(length(bytes)) AS bytes FROM body')
  const [chunk] = tape.sql('SELECT count(*) AS packed FROM chunk WHERE form = 3')
  return { ...body, ...chunk } as { bodies: number; bytes: number; packed: number }
}

describe('packed chunks', () => {
  test('are read as before, by the writer and by readers, and take less space', async () => {
    const tape = copyTape()
    const writer = tape.open()
    const before = countBodies(tape)
    const { observations } = await writer.verify()
    const reader = tape.open({ readOnly: true })
    await expectWhole(reader)
    const packed = await packAll(writer)
    const after = countBodies(tape)
    expect(packed.packs).toBeGreaterThan(3)
    expect(after.packed).toBe(packed.chunks)
    expect(after.bodies).toBe(before.bodies - packed.chunks + packed.packs)
    expect(after.bytes).toBeLessThan(before.bytes)
    await expectWhole(writer)
    await expectWhole(reader, 2)
    await expectWhole(tape.open({ readOnly: true }), 3)
    expect(await writer.verify()).toMatchObject({ observations, problems: [] })
    expect(await packAll(writer)).toMatchObject({ packs: 0 })
  })

  test('give the same bytes to downloads and the same hashes to the roots of days', async () => {
    const [plain, packed] = [copyTape().open(), copyTape().open()]
    expect((await packAll(packed)).chunks).toBeGreaterThan(10)
    expect(await chunksOf(packed)).toEqual(await chunksOf(plain))
    const sealed = await sealedOf(plain)
    expect(sealed.length).toBeGreaterThan(10)
    expect(await sealedOf(packed)).toEqual(sealed)
  })

  test('move to other storage as packs, stay readable there, and keep their hashes', async () => {
    const tape = copyTape()
    const address = join(dirname(tape.file), 'objects')
    const writer = tape.open()
    const { chunks } = await packAll(writer)
    const bytes = await chunksOf(writer)
    const moved = await moveAll(writer, address)
    expect(moved.chunks).toBeGreaterThanOrEqual(chunks)
    expect(globSync(join(address, '**/*.seg')).length).toBe(moved.segments)
    expect(countBodies(tape)).toMatchObject({ packed: chunks })
    const [left] = tape.sql(
      'SELECT count(*) AS left FROM body JOIN chunk ON body = id WHERE form = 3',
    )
    expect(left).toEqual({ left: 0 })
    await expectWhole(tape.open({ readOnly: true }))
    expect(await chunksOf(writer)).toEqual(bytes)
    expect((await writer.verify()).problems).toEqual([])
    expect(await sealedOf(writer)).toEqual(await sealedOf(copyTape().open()))
    expect(await packAll(writer)).toMatchObject({ packs: 0 })
    // Removing rows needs no storage, and packs go whole.
    const facts = await writer.instruments()
    const middle = Math.max(...facts.map(({ lastReceived }) => lastReceived)) - 400_000_000
    await writer.retain(middle)
    expect((await writer.verify()).problems).toEqual([])
    expect((await writer.retain(Number.MAX_SAFE_INTEGER)).chunks).toBeGreaterThan(0)
    expect(countBodies(tape).packed).toBe(0)
    expect((await writer.verify()).problems).toEqual([])
  })

  test('go with retention, and leave no body behind', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await packAll(writer)
    const facts = await writer.instruments()
    const last = Math.max(...facts.map(({ lastReceived }) => lastReceived))
    for (const before of [last - 900_000_000, last - 400_000_000, last + 1]) {
      await writer.retain(before)
      expect((await writer.verify()).problems).toEqual([])
      const [loose] = tape.sql(
        'SELECT count(*) AS bodies FROM body WHERE id NOT IN (SELECT body FROM chunk)',
      )
      expect(loose).toEqual({ bodies: 0 })
    }
    expect(countBodies(tape).packed).toBe(0)
  })

  test('that are damaged are declared as gaps, and verify and the scrubber name them', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await packAll(writer)
    const packs = tape.sql('SELECT DISTINCT body AS id FROM chunk WHERE form = 3 ORDER BY body')
    for (const [at, { id }] of packs.entries()) {
      if (at % 3 === 2) continue
      const [{ bytes }] = tape.sql('SELECT bytes FROM body WHERE id = ?', Number(id)) as [
        { bytes: Uint8Array },
      ]
      // At the beginning of some, where all their chunks are named; near the end of others.
      bytes[at % 3 === 0 ? 12 : bytes.length - 40]! ^= 8
      tape.sql('UPDATE body SET bytes = ? WHERE id = ?', bytes, Number(id))
    }
    const reader = tape.open({ readOnly: true })
    const { wrong, lost, errors, covered } = await inspectStore(reader, oracle, createRandom(3))
    expect({ wrong, lost, errors }).toEqual({ wrong: [], lost: [], errors: [] })
    expect(covered).toBeGreaterThan(0)
    const { problems } = await writer.verify()
    expect(problems.length).toBeGreaterThan(0)
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['corrupt_chunk']))
    for (const { instrument } of await writer.instruments())
      await writer.scrubInstrument(instrument)
    expect((await writer.gaps({ reason: 'corrupt' })).length).toBeGreaterThan(0)
    expect((await writer.adopt(copyTape().file, Date.now() * 1000)).length).toBeGreaterThan(0)
    await expectWhole(writer)
  })

  test('are the rows of a rebuilt tape: adopting it changes nothing', async () => {
    const writer = copyTape().open()
    await packAll(writer)
    expect(await writer.adopt(copyTape().file, Date.now() * 1000)).toEqual([])
  })

  test('are refused where they do not give the stored rows, or those changed meanwhile', async () => {
    const tape = copyTape()
    const writer = tape.open()
    const { groups } = await writer.planPacks(Number.MAX_SAFE_INTEGER, 0)
    const made = (await Promise.all(groups.map((group) => writer.makePacks(group)))).flat()
    const [one, other] = made as [(typeof made)[0], (typeof made)[0]]
    expect(await writer.replaceByPack({ ...one, bytes: other.bytes })).toBe(false)
    const flipped = Uint8Array.from(one.bytes)
    flipped[flipped.length - 30]! ^= 1
    expect(await writer.replaceByPack({ ...one, bytes: flipped })).toBe(false)
    expect(countBodies(tape).packed).toBe(0)
    expect(await writer.replaceByPack(one)).toBe(true)
    expect(await writer.replaceByPack(one)).toBe(false)
    await moveAll(writer, join(dirname(tape.file), 'objects'))
    expect(await writer.replaceByPack(other)).toBe(false)
    await expectWhole(writer)
  })

  test('survive a kill of the packer at any moment', { timeout: KILLS * 60_000 }, async () => {
    let tape = copyTape()
    const random = createRandom(7)
    const child = fileURLToPath(new URL('pack-writer.testing.ts', import.meta.url))
    let kills = 0
    for (let round = 0; kills < KILLS && round < 4 * KILLS; round++) {
      const packer = spawn(process.execPath, [child, tape.file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      packer.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (said === '') setTimeout(() => packer.kill('SIGKILL'), random() * 60)
        said += text
      })
      await new Promise((resolve) => packer.on('close', resolve))
      const store = openEmbeddedStore({ file: tape.file, readOnly: true })
      expect((await store.verify()).problems).toEqual([])
      await expectWhole(store, round)
      await store.close()
      if (said.includes('packed')) tape = copyTape()
      else kills++
    }
    console.log(`${kills} kills of a packer: every row is there`)
    expect(kills).toBeGreaterThan(KILLS / 2)
    const store = tape.open()
    await packAll(store)
    await expectWhole(store)
  })
})
