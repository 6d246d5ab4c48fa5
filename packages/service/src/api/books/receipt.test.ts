import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RunningSha256 } from '@priorbook/sdk/wire'
import { Receipt } from './receipt.ts'

const PREFIXES = ['venueb:KXBTC-1:', 'venuec:7-2+1:', 'venuec:9:'] as const

type Added = { readonly prefix: string; readonly first: number; readonly count: number }

function idsOf(added: readonly Added[], step: 1 | -1): string[] {
  return added.flatMap(({ prefix, first, count }) =>
    Array.from({ length: count }, (_, index) => `${prefix}${first + index * step}`),
  )
}

function sha256Of(ids: readonly string[]): string {
  return createHash('sha256')
    .update(ids.map((id) => `${id}\n`).join(''))
    .digest('hex')
}

// Adds rows one piece after the other; a cursor stands between any two of them.
function walkOver(added: readonly Added[], step: 1 | -1): Receipt {
  let receipt = Receipt.create()
  for (const { prefix, first, count } of added) {
    receipt.addRows(prefix, first, count, step)
    receipt = Receipt.fromText(receipt.toText())
  }
  return receipt
}

describe('the receipt of a walk', () => {
  it('is the hash of all ids, however they came', () => {
    const piece = fc.record({
      prefix: fc.constantFrom(...PREFIXES),
      first: fc.integer({ min: 1000, max: 1_000_000 }),
      count: fc.integer({ min: 0, max: 600 }),
    })
    const step = fc.constantFrom(1 as const, -1 as const)
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), step, (added, way) => {
        const ids = idsOf(added, way)
        expect(walkOver(added, way).toJson()).toEqual({
          rows: ids.length,
          first_id: ids[0] ?? null,
          last_id: ids.at(-1) ?? null,
          sha256: sha256Of(ids),
          gaps: 0,
        })
      }),
      { numRuns: 200, seed: 4 },
    )
  })

  it.each([1, -1] as const)('is short for a long walk, and right after it (step %i)', (step) => {
    const sizes = [1, 99, 65_000, 436, 1, 1000, 9_999, 70_000, 3]
    let first = 500_000
    const added = sizes.map((count) => {
      const one = { prefix: PREFIXES[0], first, count }
      first += count * step
      return one
    })
    const receipt = walkOver(added, step)
    expect(receipt.toText().length).toBeLessThan(300)
    expect(receipt.toJson().sha256).toBe(sha256Of(idsOf(added, step)))
  })

  it('tells the same hash twice and goes on after it', () => {
    const receipt = walkOver([{ prefix: PREFIXES[0], first: 1, count: 70_000 }], 1)
    expect(receipt.toJson()).toEqual(receipt.toJson())
    receipt.addRows(PREFIXES[0], 70_001, 5, 1)
    const all = idsOf([{ prefix: PREFIXES[0], first: 1, count: 70_005 }], 1)
    expect(receipt.toJson().sha256).toBe(sha256Of(all))
  })

  it('goes on from a cursor in which every row is hashed', () => {
    const hash = RunningSha256.create()
    const bytes = new TextEncoder().encode('venueb:K:1\nvenueb:K:2\n')
    hash.update(bytes, 0, bytes.length)
    const receipt = Receipt.fromText(`2 0 ${hash.toText()} venueb:K:1 venueb:K:2`)
    receipt.addRows('venueb:K:', 3, 2, 1)
    const ids = idsOf([{ prefix: 'venueb:K:', first: 1, count: 4 }], 1)
    expect(receipt.toJson()).toMatchObject({ rows: 4, sha256: sha256Of(ids) })
  })
})
