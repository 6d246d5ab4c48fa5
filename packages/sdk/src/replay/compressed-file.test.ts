import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { bookChunk, ContainerMaker, type TestRow } from './container.testing.ts'
import { replayFiles } from './replay-node.ts'

const START = 1_786_000_000_000_000
// Sizes that no compression shortens, so that the compressed file has several blocks of a read.
const ROWS = 120_000

test.each([
  ['gz', gzipSync],
  ['zst', zstdCompressSync],
] as const)('a large file that is compressed whole (.%s) is replayed', async (ending, compress) => {
  let state = 1
  const next = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  const rows = Array.from({ length: ROWS }, (_, index): TestRow => {
    const size = 1 + next() * 65_536 + (next() & 65_535)
    const flags = index === 0 ? 1 : 0
    return { received: START + index, keys: [40 + (next() % 50) * 2], sizes: [size], flags }
  })
  const maker = new ContainerMaker(0, Infinity)
  for (let from = 0; from < ROWS; from += 1000) {
    maker.frame('C', bookChunk('venueb', 'K1', rows, from, from + 1000))
  }
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-compressed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, `a.pbx.${ending}`)
  const bytes = compress(maker.finish())
  writeFileSync(path, bytes)
  expect(bytes.length).toBeGreaterThan(3 * 262_144)
  let count = 0
  for await (const batch of replayFiles([path])) for (const _ of batch) count++
  expect(count).toBe(ROWS)
})
