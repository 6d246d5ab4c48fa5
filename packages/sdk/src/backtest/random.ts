/** A seeded random number generator: the same seed gives the same numbers on every machine. */
export interface Random {
  /** A number in [0, 1) with 32 random bits. */
  float(): number
  /** A whole number in [0, below). */
  below(limit: number): number
}

/** Creates a generator from a seed and the name of its use, which makes streams independent. */
export function createRandom(seed: number, use = ''): Random {
  const next = createSfc32(seed, use)
  return {
    float: () => next() / 4294967296,
    below: (limit) => Math.floor((next() / 4294967296) * limit),
  }
}

/** An sfc32 generator (PractRand, public domain): 32 random bits per call. */
export function createSfc32(seed: number, use = ''): () => number {
  let a = 0x9e3779b9
  let b = 0x243f6a88
  let c = seed | 0
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let index = 0; index < use.length; index++) {
    a = (a ^ use.charCodeAt(index)) | 0
    next()
  }
  // sfc32 needs some rounds until a small seed has changed every bit of its state.
  for (let round = 0; round < 20; round++) next()
  return next
}
