/** What can be said of one observation beside its book; bit values are part of the tape format. */
export const FLAGS = {
  /** The venue sent the whole book, not a change of it. */
  full_book: 1,
  /** Received more than 5 s after its source time. */
  late: 2,
  /** Our clock stepped back: the received time is the last one + 1 µs, the wall time is in the journal. */
  clock_step: 4,
  /** Best bid equals best ask. */
  locked: 8,
  /** A changed price is not on the market's tick. */
  off_tick: 16,
  /** The venue cut the book at its own depth limit. */
  truncated_upstream: 32,
  /** The book starts anew from a full one: nothing of the book before it is carried over. */
  restart: 64,
  /** A gap lies between this observation and the one before it. */
  after_gap: 128,
} as const

/** The name of one flag. */
export type Flag = keyof typeof FLAGS

const NAMES = Object.keys(FLAGS) as Flag[]

/** The names of the bits that are set, in the order of their bits. */
export function flagNames(bits: number): Flag[] {
  return NAMES.filter((name) => (bits & FLAGS[name]) !== 0)
}

/** An observation this much later than its source time is flagged `late`. */
export const LATE_MICROS = 5_000_000
