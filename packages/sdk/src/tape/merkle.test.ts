import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { leafHash, nodeHash, partsWithout, rootOfRuns, type Sha256 } from './merkle.ts'

const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex')

// The leaves and roots that implementations of RFC 6962 are tested with.
const LEAVES = ['', '\0', '\u0010', ' !', '01', '@ABC', 'PQRSTUVW', '`abcdefghijklmno']
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

describe('a tree of hashes', () => {
  it('has the roots of RFC 6962', () => {
    for (const [index, root] of ROOTS.entries()) {
      const hashes = LEAVES.slice(0, index + 1).map((text) => leafHash(text, sha256))
      expect(hex(rootOfRuns(index + 1, [{ at: 0, hashes }], [], sha256))).toBe(root)
    }
  })

  it('has the same root for any known leaves and the hashes of the rest', () => {
    for (let size = 1; size <= 40; size++) {
      const hashes = Array.from({ length: size }, (_, at) => leafHash(`leaf ${at}`, sha256))
      const hashOf = (from: number, to: number): Uint8Array => {
        if (to - from === 1) return hashes[from]!
        let half = 1
        while (half * 2 < to - from) half *= 2
        return nodeHash(hashOf(from, from + half), hashOf(from + half, to), sha256)
      }
      const root = hex(hashOf(0, size))
      for (let from = 0; from < size; from++) {
        for (const to of new Set([from + 1, Math.min(size, from + 3), size])) {
          const spans = [{ from, to }]
          if (from > 2) spans.push({ from: 0, to: 1 })
          const runs = spans.map((span) => ({
            at: span.from,
            hashes: hashes.slice(span.from, span.to),
          }))
          const others = [...partsWithout(size, spans)].map((part) => hashOf(part.from, part.to))
          expect(hex(rootOfRuns(size, runs, others, sha256))).toBe(root)
          const changed = others.map((hash, at) => (at === 0 ? sha256([hash]) : hash))
          if (others.length === 0) continue
          expect(hex(rootOfRuns(size, runs, changed, sha256))).not.toBe(root)
          expect(rootOfRuns(size, runs, [...others, hashes[0]!], sha256)).toBeUndefined()
          expect(rootOfRuns(size, runs, others.slice(1), sha256)).toBeUndefined()
        }
      }
    }
  })

  it('refuses leaves outside of it', () => {
    const hashes = [leafHash('a', sha256)]
    expect(rootOfRuns(0, [], [], sha256)).toBeUndefined()
    expect(rootOfRuns(1, [{ at: 1, hashes }], [], sha256)).toBeUndefined()
    expect(rootOfRuns(1, [{ at: -1, hashes }], [], sha256)).toBeUndefined()
  })
})
