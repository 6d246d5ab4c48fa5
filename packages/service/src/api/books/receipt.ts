import { createHash } from 'node:crypto'
import { RunningSha256, type ReceiptJson } from '@priorbook/sdk/wire'

const encoder = new TextEncoder()
const LINE_FEED = 10
const NINE = 57
// A venue, a key of 200 characters and 16 digits.
const ID_MAX = 256
const scratch = new Uint8Array(1 << 14)

// What is not hashed yet: more than this makes a last page slow (14 ms), or a cursor long.
const MOST_ROWS = 65_536
const MOST_RUNS = 8

/** Rows of one instrument that follow each other; `step` is 1 or −1. */
type Run = {
  readonly prefix: string
  readonly first: number
  readonly step: 1 | -1
  readonly count: number
}

/**
 * The receipt of a walk while it grows; `sha256` does not depend on the sizes of the pages. Nobody needs
 * the hash before the last page, and rows that follow each other are told in a few words: so the walk
 * carries what it has not hashed yet, and most walks are hashed once, by Node's own hash. Only where
 * that grows too much a hash that a cursor can hold takes the oldest.
 */
export class Receipt {
  private rows = 0
  private gaps = 0
  private firstId = ''
  private lastId = ''
  /** Of all rows before the runs; absent while the runs are all. */
  private hash: RunningSha256 | undefined
  private readonly runs: Run[] = []
  private waiting = 0

  static create(): Receipt {
    return new Receipt()
  }

  /** Goes on from what `toText` gave. */
  static fromText(text: string): Receipt {
    const [rows, gaps, hash, firstId, lastId, ...runs] = text.split(' ')
    const receipt = new Receipt()
    receipt.rows = Number(rows)
    receipt.gaps = Number(gaps)
    receipt.firstId = firstId!
    receipt.lastId = lastId!
    if (hash !== '') receipt.hash = RunningSha256.fromText(hash!)
    for (const run of runs) receipt.wait(parseRun(run))
    return receipt
  }

  toText(): string {
    const { rows, gaps, hash, firstId, lastId, runs } = this
    let text = `${rows} ${gaps} ${hash?.toText() ?? ''} ${firstId} ${lastId}`
    for (const run of runs) text += ` ${printRun(run)}`
    return text
  }

  /** How many rows the walk has had. */
  get rowCount(): number {
    return this.rows
  }

  /** Takes rows of one instrument; `step` is 1 or −1. */
  addRows(prefix: string, first: number, count: number, step: 1 | -1): void {
    if (count === 0) return
    if (this.rows === 0) this.firstId = `${prefix}${first}`
    this.lastId = `${prefix}${first + (count - 1) * step}`
    this.rows += count
    this.wait({ prefix, first, step, count })
    while (this.runs.length > MOST_RUNS) this.hashOldest(Infinity)
    while (this.waiting > MOST_ROWS) this.hashOldest(this.waiting - MOST_ROWS)
  }

  /** Takes the gaps of a page. */
  addGaps(count: number): void {
    this.gaps += count
  }

  toJson(): ReceiptJson {
    const { rows, gaps, firstId, lastId } = this
    const hasRows = rows > 0
    return {
      rows,
      first_id: hasRows ? firstId : null,
      last_id: hasRows ? lastId : null,
      sha256: this.digest(),
      gaps,
    }
  }

  private wait(run: Run): void {
    this.waiting += run.count
    const last = this.runs.at(-1)
    if (last !== undefined && follows(last, run)) {
      this.runs[this.runs.length - 1] = { ...last, count: last.count + run.count }
    } else this.runs.push(run)
  }

  // The oldest run, or so many rows of it.
  private hashOldest(most: number): void {
    const run = this.runs[0]!
    const { first, step } = run
    const taken = Math.min(most, run.count)
    const hash = (this.hash ??= RunningSha256.create())
    writeIds({ ...run, count: taken }, (end) => hash.update(scratch, 0, end))
    this.waiting -= taken
    if (taken === run.count) this.runs.shift()
    else this.runs[0] = { ...run, first: first + taken * step, count: run.count - taken }
  }

  private digest(): string {
    const { hash, runs } = this
    if (hash !== undefined) {
      while (runs.length > 0) this.hashOldest(Infinity)
      return hash.digest()
    }
    const whole = createHash('sha256')
    for (const run of runs) writeIds(run, (end) => whole.update(scratch.subarray(0, end)))
    return whole.digest('hex')
  }
}

function follows(last: Run, next: Run): boolean {
  return (
    next.first === last.first + last.count * last.step &&
    next.step === last.step &&
    next.prefix === last.prefix
  )
}

// Such as `venueb:KEY:17+100`.
function printRun({ prefix, first, step, count }: Run): string {
  return `${prefix}${first}${step === 1 ? '+' : '-'}${count}`
}

function parseRun(text: string): Run {
  const sign = Math.max(text.lastIndexOf('+'), text.lastIndexOf('-'))
  const start = text.lastIndexOf(':') + 1
  return {
    prefix: text.slice(0, start),
    first: Number(text.slice(start, sign)),
    step: text[sign] === '+' ? 1 : -1,
    count: Number(text.slice(sign + 1)),
  }
}

// Writes ids, each with its line feed, and tells how far the scratch space is filled.
function writeIds({ prefix, first, step, count }: Run, take: (end: number) => void): void {
  const { written } = encoder.encodeInto(prefix, scratch)
  let start = 0
  let before = 0
  for (let index = 0, sequence = first; index < count; index++, sequence += step) {
    // An id is the one before it but for the last digit, nine times of ten.
    const line = start
    const length = line - before
    const isNext = step === 1 && line > 0 && scratch[line - 2] !== NINE
    if (line > 0) scratch.copyWithin(line, before, isNext ? line : before + written)
    if (isNext) {
      start = line + length
      scratch[start - 2]!++
    } else {
      start = writeDigits(sequence, line + written)
      scratch[start++] = LINE_FEED
    }
    before = line
    if (start + ID_MAX < scratch.length) continue
    take(start)
    start = 0
  }
  take(start)
}

function writeDigits(value: number, at: number): number {
  let digits = 1
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++
  let rest = value
  for (let place = at + digits - 1; place >= at; place--) {
    const next = Math.floor(rest / 10)
    scratch[place] = 48 + rest - next * 10
    rest = next
  }
  return at + digits
}
