import { DAY_MICROS } from '@priorbook/sdk/domain'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { leafHash, rootOfRuns } from '@priorbook/sdk/tape'
import { parseLeaf, type ChunkLeaf } from '@priorbook/sdk/wire'
import { createRandom } from '../lib/random.testing.ts'
import { checkProofs } from './check-proofs.ts'
import { hex, ProofBook, sha256, type SignedRoot } from './proof-book.ts'
import { ProofDatabase } from './proof-database.ts'
import { openProofKey } from './proof-key.ts'
import { RootWriter } from './root-writer.ts'

const DAY = Date.UTC(2026, 7, 11) * 1000

function open(): { folder: string; book: ProofBook; writer: RootWriter } {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-roots-'))
  const book = new ProofBook(new ProofDatabase(folder, false))
  onTestFinished(() => {
    book.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, book, writer: new RootWriter(book, openProofKey(folder), DAY) }
}

function leafOf(number: number): ChunkLeaf {
  const market = `M${number % 37}`
  return {
    venue: number % 3 === 0 ? 'venueb' : 'venuec',
    market,
    key: `${market}-${number % 2}`,
    kind: 'book',
    metric: '',
    first: 1 + Math.floor(number / 37) * 1024,
    count: 1024,
    firstReceived: DAY + number,
    lastReceived: DAY + number + 1,
    hash: hex(sha256([Buffer.from(String(number))])),
  }
}

const sign = (writer: RootWriter): Promise<SignedRoot | undefined> =>
  writer.sign(
    DAY,
    () => DAY * 2,
    async () => undefined,
  )

const byValue = (a: number, b: number): number => a - b

/** Checks the proof of a market as a reader would, and gives the first rows of its chunks. */
function prove(
  book: ProofBook,
  root: SignedRoot,
  venue: ChunkLeaf['venue'],
  market: string,
): number[] {
  const { runs, hashes } = book.leavesOf(root, { venue, market })
  const found = rootOfRuns(
    root.size,
    runs.map(({ at, leaves }) => ({ at, hashes: leaves.map((text) => leafHash(text, sha256)) })),
    hashes.map((text) => Buffer.from(text, 'hex')),
    sha256,
  )
  expect(hex(found!)).toBe(root.root)
  const leaves = runs.flatMap((run) => run.leaves.map(parseLeaf))
  const own = leaves.filter((leaf) => leaf.venue === venue && leaf.market === market)
  return own.map(({ first }) => first)
}

describe('the tree of a day', () => {
  it('grows by amendments, and proves every market in each of them', async () => {
    const { folder, book, writer } = open()
    const random = createRandom(3)
    const noted: ChunkLeaf[] = []
    for (let round = 0; round < 6; round++) {
      const some = Array.from({ length: 1 + Math.floor(random() * 300) }, () =>
        leafOf(Math.floor(random() * 3000)),
      )
      writer.note(some, DAY + round)
      noted.push(...some)
      const root = await sign(writer)
      const hashes = new Set(noted.map(({ hash }) => hash))
      if (root === undefined) continue
      expect([root.number, root.size]).toEqual([book.rootsOf(DAY).length, hashes.size])
      for (let market = 0; market < 37; market += 5) {
        for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
          const own = noted.filter((leaf) => leaf.venue === venue && leaf.market === `M${market}`)
          const unique = new Map(own.map((leaf) => [leaf.hash, leaf.first]))
          const found = prove(book, root, venue, `M${market}`)
          expect(found.sort(byValue)).toEqual([...unique.values()].sort(byValue))
        }
      }
    }
    expect(writer.waitingDays()).toEqual([])
    expect(checkProofs(folder)).toEqual({ roots: book.rootsOf(DAY).length, problems: [] })
  })

  it('is the same after a draft that was not signed, and nothing is signed twice', async () => {
    const { folder, book, writer } = open()
    writer.note(
      Array.from({ length: 700 }, (_, number) => leafOf(number)),
      DAY,
    )
    let steps = 0
    const killed = writer.sign(
      DAY,
      () => DAY,
      async () => {
        if (++steps === 2) throw new Error('killed')
      },
    )
    await expect(killed).rejects.toThrow('killed')
    expect(book.rootsOf(DAY)).toEqual([])
    const root = (await sign(writer))!
    expect(root.size).toBe(700)
    writer.note(
      Array.from({ length: 700 }, (_, number) => leafOf(number)),
      DAY + 1,
    )
    expect(await sign(writer)).toBeUndefined()
    expect(writer.waitingDays()).toEqual([])
    expect(checkProofs(folder)).toEqual({ roots: 1, problems: [] })
  })

  it('loses its leaves with age, but neither its signature nor its place in the chain', async () => {
    const { folder, book, writer } = open()
    const rest = async (): Promise<void> => undefined
    writer.note(
      Array.from({ length: 700 }, (_, number) => leafOf(number)),
      DAY,
    )
    await sign(writer)
    // The day has to be over for as long as leaves stay.
    await writer.removeBefore(DAY + DAY_MICROS - 1, rest)
    expect(book.removedOf(DAY)).toBeUndefined()
    await writer.removeBefore(DAY + DAY_MICROS, rest)
    expect(book.removedOf(DAY)).toEqual({ isTreeGone: true, unsigned: 0 })
    expect(book.database.all('SELECT 1 FROM leaf UNION ALL SELECT 1 FROM node')).toEqual([])
    expect(checkProofs(folder)).toEqual({ roots: 1, problems: [] })
    // A chunk that comes later for that day cannot be added any more.
    writer.note([leafOf(900)], DAY + 2 * DAY_MICROS)
    expect(await writer.sign(DAY, () => DAY + 2 * DAY_MICROS, rest)).toBeUndefined()
    expect(writer.waitingDays()).toEqual([])
    expect(book.removedOf(DAY)).toEqual({ isTreeGone: true, unsigned: 1 })
    book.database.run(
      "UPDATE statement SET signature = CASE WHEN signature LIKE '00%' THEN '01' ELSE '00' END || substr(signature, 3)",
    )
    expect(checkProofs(folder).problems).toHaveLength(1)
  })

  it('does not name chunks that were too old before it was signed', async () => {
    const { book, writer } = open()
    const rest = async (): Promise<void> => undefined
    writer.note([leafOf(1), leafOf(2)], DAY + 10)
    writer.note([leafOf(3)], DAY + 500)
    await writer.removeBefore(DAY + 100, rest)
    expect(book.removedOf(DAY)).toEqual({ isTreeGone: false, unsigned: 2 })
    expect((await sign(writer))!.size).toBe(1)
  })

  it('is looked at in steps while many chunks wait: nothing reads a whole day at once', async () => {
    const { book, writer } = open()
    const leaves = Array.from({ length: 700 }, (_, number) => leafOf(number))
    writer.note(leaves.slice(0, 600), DAY + 10)
    writer.note(leaves.slice(600), DAY + 20)
    const later = { ...leafOf(900), lastReceived: DAY + 3 * DAY_MICROS }
    writer.note([later], DAY + 30)
    const { database } = book
    const plans: string[] = []
    const all = database.all.bind(database)
    vi.spyOn(database, 'all').mockImplementation((sql, ...values) => {
      const steps = all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
      plans.push(...steps.map(({ detail }) => detail))
      const rows = all(sql, ...values)
      expect(rows.length).toBeLessThanOrEqual(256)
      return rows
    })
    let rests = 0
    const rest = async (): Promise<void> => void rests++
    expect(writer.waitingDays()).toEqual([DAY, DAY + 3 * DAY_MICROS])
    expect(await writer.waitingSince(DAY, rest)).toBe(DAY + 10)
    expect(rests).toBe(2)
    expect(await writer.waitingSince(DAY + DAY_MICROS, rest)).toBeUndefined()
    // What is known is not read again, until some of it is gone.
    expect(await writer.waitingSince(DAY, rest)).toBe(DAY + 10)
    expect(rests).toBe(2)
    expect(plans.filter((plan) => /SCAN|TEMP B-TREE/.test(plan))).toEqual([])
    await writer.removeBefore(DAY + DAY_MICROS, rest)
    vi.restoreAllMocks()
    writer.note(leaves.slice(0, 1), DAY + 40)
    expect(await writer.waitingSince(DAY, rest)).toBe(DAY + 40)
    expect((await sign(writer))!.size).toBe(1)
    expect(writer.waitingDays()).toEqual([DAY + 3 * DAY_MICROS])
  })

  it('shows every change of what was signed', async () => {
    const { folder, book, writer } = open()
    writer.note([leafOf(1), leafOf(2), leafOf(3)], DAY)
    await sign(writer)
    writer.note([leafOf(4)], DAY)
    await sign(writer)
    const change = (sql: string): string[] => {
      book.database.write(() => book.database.run(sql))
      return checkProofs(folder).problems.map(({ detail }) => detail)
    }
    expect(
      change("UPDATE leaf SET text = replace(text, '1024', '1023') WHERE position = 1"),
    ).toEqual(['its leaves have another root', 'its leaves have another root'])
    expect(change('UPDATE statement SET hash = upper(hash) WHERE sequence = 1')).toContain(
      'the hash of its statement is another',
    )
    expect(
      change("UPDATE statement SET signature = replace(signature, 'a', 'b') WHERE sequence = 2")
        .length,
    ).toBe(2)
  })
})
