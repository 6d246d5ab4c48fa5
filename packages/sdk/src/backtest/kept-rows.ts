/**
 * Rows of numbers in one typed array, for what a run keeps until its report. The garbage collector follows every
 * object that is kept, but does not look into the array.
 */
export class NumberRows {
  /** All rows, one behind the other; replaced as they grow. */
  values: Float64Array
  count = 0
  private readonly width: number

  constructor(width: number) {
    this.width = width
    this.values = new Float64Array(64 * width)
  }

  /** Adds a row of zeros; returns the index of its first number in `values`. */
  add(): number {
    const first = this.count++ * this.width
    if (first === this.values.length) {
      const { values } = this
      this.values = new Float64Array(values.length * 2)
      this.values.set(values)
    }
    return first
  }

  /** The index of the first number of a row in `values`. */
  first(row: number): number {
    return row * this.width
  }
}

/** Words that rows refer to by number; there are few different ones. */
export class WordTable<Word extends string> {
  private readonly words: Word[] = []
  private readonly numbers = new Map<Word, number>()

  /** The number of a word; NaN for none. */
  numberOf(word: Word | undefined): number {
    if (word === undefined) return NaN
    const known = this.numbers.get(word)
    if (known !== undefined) return known
    const number = this.words.push(word) - 1
    this.numbers.set(word, number)
    return number
  }

  /** The word of a number; undefined for NaN. */
  wordOf(number: number): Word | undefined {
    return this.words[number]
  }
}

/** A number of a row; undefined where it is NaN. */
export function known(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value
}
