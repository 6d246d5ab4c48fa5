import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  bookChunk,
  ContainerMaker,
  sampleChunk,
  type TestRow,
} from '../replay/container.testing.ts'
import { chunkHash, NO_HASH, openChunk } from '../tape/index.ts'
import { createNodePlatform } from '../tape/platform-node.ts'
import { RowChecks, type Finding } from './row-checks.ts'
import { verifyTape } from './verify-tape.ts'

const KEY = 'KX-1'
const START = 1_786_000_000_000_000
const platform = createNodePlatform()
const folder = mkdtempSync(join(tmpdir(), 'priorbook-verify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ROWS: readonly TestRow[] = [100, 200, 300, 400].map((size, index) => ({
  received: START + index,
  keys: [51],
  sizes: [size],
}))

const hashOf = (chunk: Uint8Array): Uint8Array => chunkHash(openChunk(chunk, platform), platform)

/** Verifies a file of two sealed chunks; the second one names `previous` as the hash before it. */
async function verify(
  head: (hash: string) => string | null,
  previous?: Uint8Array,
): Promise<Finding[]> {
  const first = bookChunk('venueb', KEY, ROWS, 0, 2)
  const second = bookChunk('venueb', KEY, ROWS, 2, 4, previous ?? hashOf(first))
  const path = join(folder, 'books.pbx')
  const file = new ContainerMaker(START, START + 10).frame('C', first).frame('C', second)
  writeFileSync(path, file.finish())
  const hash = Buffer.from(hashOf(second)).toString('hex')
  const instruments = [{ key: KEY, first: 1, last: 4, rows: 4, head: head(hash) }]
  const receipt = { rows: 4, instruments } as unknown as Parameters<typeof verifyTape>[3]
  const findings: Finding[] = []
  await verifyTape(path, new RowChecks(), findings, receipt, new AbortController().signal)
  return findings
}

describe('the chunks of a tape file', () => {
  it('lead to the head of the receipt', async () => {
    expect(await verify((hash) => hash)).toEqual([
      { check: 'container', isGood: true, detail: expect.any(String) as string },
      {
        check: 'heads',
        isGood: true,
        detail: 'the chunks of 1 of 1 instruments lead to their heads',
      },
    ])
  })

  it('are refused where none of them has the hash of the head', async () => {
    const wrong = 'ab'.repeat(32)
    expect((await verify(() => wrong)).at(-1)).toEqual({
      check: 'heads',
      isGood: false,
      detail: `no chunk of ${KEY} has the hash ${wrong}`,
    })
  })

  it('are refused where they do not form one chain', async () => {
    expect((await verify((hash) => hash, NO_HASH)).at(-1)).toEqual({
      check: 'heads',
      isGood: false,
      detail: `row 3 of ${KEY} does not continue the chain of its chunks`,
    })
  })

  it('prove nothing where the receipt has no head yet', async () => {
    expect((await verify(() => null)).at(-1)).toMatchObject({
      isGood: true,
      detail: expect.stringContaining('0 of 1') as string,
    })
  })

  it('may hold the history of a venue, which a replay refuses', async () => {
    const chunk = sampleChunk('venueb', `backfill/${KEY}`, [{ received: START }])
    const path = join(folder, 'history.pbx')
    writeFileSync(path, new ContainerMaker(START, START + 10).frame('C', chunk).finish())
    const findings: Finding[] = []
    const rows = new RowChecks()
    const { signal } = new AbortController()
    await verifyTape(path, rows, findings, undefined, signal)
    expect(findings).toMatchObject([{ check: 'container', isGood: true }])
    expect(rows.rows).toBe(1)
  })
})
