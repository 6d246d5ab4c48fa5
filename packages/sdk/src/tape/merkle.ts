/** Hashes the concatenation of its parts. */
export type Sha256 = (parts: readonly Uint8Array[]) => Uint8Array

/** Consecutive leaves of a tree: the number of the first, from 0, and the hash of each. */
export type LeafRun = { readonly at: number; readonly hashes: readonly Uint8Array[] }

/** Leaves [from, to) of a tree. */
export type LeafSpan = { readonly from: number; readonly to: number }

// RFC 6962: a leaf can never be taken for a node, because their inputs begin differently.
const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)
const encoder = new TextEncoder()

/** The hash of a leaf: SHA-256 of a zero byte and its text. */
export function leafHash(text: string, sha256: Sha256): Uint8Array {
  return sha256([LEAF, encoder.encode(text)])
}

/** The hash of a node: SHA-256 of a one byte and the hashes of its two halves. */
export function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  return sha256([NODE, left, right])
}

/** How many leaves the left half of a tree has: the largest power of two below its size. */
export function leftSize(size: number): number {
  let half = 1
  while (half * 2 < size) half *= 2
  return half
}

/** The largest parts of a tree that hold none of some leaves, from left to right. */
export function* partsWithout(size: number, spans: readonly LeafSpan[]): Generator<LeafSpan> {
  if (size > 0) yield* partsOf({ from: 0, to: size }, spans)
}

function* partsOf(part: LeafSpan, spans: readonly LeafSpan[]): Generator<LeafSpan> {
  const { from, to } = part
  const inside = spans.filter((span) => span.from < to && span.to > from)
  if (inside.length === 0) yield part
  else if (to - from > 1) {
    const middle = from + leftSize(to - from)
    yield* partsOf({ from, to: middle }, inside)
    yield* partsOf({ from: middle, to }, inside)
  }
}

/**
 * The root of a tree of which some leaves are known, and of everything else the hashes of the largest
 * parts, from left to right. Undefined where the hashes are too few or too many.
 */
export function rootOfRuns(
  size: number,
  runs: readonly LeafRun[],
  others: readonly Uint8Array[],
  sha256: Sha256,
): Uint8Array | undefined {
  const leaves = new Map<number, Uint8Array>()
  for (const { at, hashes } of runs) {
    for (const [index, hash] of hashes.entries()) leaves.set(at + index, hash)
  }
  const spans = runs.map(({ at, hashes }) => ({ from: at, to: at + hashes.length }))
  let used = 0
  const hashOf = (from: number, to: number): Uint8Array | undefined => {
    if (!spans.some((span) => span.from < to && span.to > from)) return others[used++]
    if (to - from === 1) return leaves.get(from)
    const middle = from + leftSize(to - from)
    const left = hashOf(from, middle)
    const right = hashOf(middle, to)
    return left && right && nodeHash(left, right, sha256)
  }
  const isInside = spans.every(({ from, to }) => from >= 0 && to <= size)
  if (size < 1 || !isInside) return undefined
  const root = hashOf(0, size)
  return used === others.length ? root : undefined
}
