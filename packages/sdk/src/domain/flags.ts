/** Flags of a row; the bit values are part of the tape format. */
export const FLAGS = {
  /** The venue sent the whole book instead of a change. */
  full_book: 1,
  /** Received more than 5 s after its source time. */
  late: 2,
  /** The recorder's clock stepped back: received time is the last one + 1 µs, wall time is in the journal. */
  clock_step: 4,
  /** Best bid equals best ask. */
  locked: 8,
  /** A changed price is not on the market's tick. */
  off_tick: 16,
  /** The venue truncated the book at its depth limit. */
  truncated_upstream: 32,
  /** The book restarts from a full one; no level of the previous book is kept. */
  restart: 64,
  /** A gap lies between this observation and the one before it. */
  after_gap: 128,
  /** A price or size of a trade has more decimals than are kept and is rounded; the amounts are in `native`. */
  rounded: 256,
} as const

/** The name of one flag. */
export type Flag = keyof typeof FLAGS

const NAMES = Object.keys(FLAGS) as Flag[]

/** The names of the set bits, in bit order. */
export function flagNames(bits: number): Flag[] {
  return NAMES.filter((name) => (bits & FLAGS[name]) !== 0)
}

/** A row received this long after its source time is flagged `late`. */
export const LATE_MICROS = 5_000_000
