import { createHash } from 'node:crypto'

/** A seeded source of numbers: the same name gives the same numbers, on every machine. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Whole and uniform in [0, below). */
  int(below: number): number
  /** True with this probability. */
  chance(share: number): boolean
  /** Approximately standard normal: a sum of four uniforms, identical on every platform. */
  normal(): number
}

/** Creates a source whose numbers depend on the name alone. */
export function createRandom(name: string): Random {
  const digest = createHash('sha256').update(name).digest()
  let a = digest.readInt32LE(0)
  let b = digest.readInt32LE(4)
  let c = digest.readInt32LE(8)
  let d = digest.readInt32LE(12)

  // sfc32 by Chris Doty-Humphrey: 128 bits of state, passes PractRand.
  function next(): number {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 4294967296
  }

  return {
    next,
    int: (below) => Math.floor(next() * below),
    chance: (share) => next() < share,
    // Four uniforms have the variance 1/3.
    normal: () => (next() + next() + next() + next() - 2) * Math.sqrt(3),
  }
}

/** Hex digits that depend on the name alone; for identifiers. */
export function toHex(name: string, digits: number): string {
  let text = ''
  for (let part = 0; text.length < digits; part++) {
    text += createHash('sha256')
      .update(part === 0 ? name : `${name}#${part}`)
      .digest('hex')
  }
  return text.slice(0, digits)
}
