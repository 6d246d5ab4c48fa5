import { RunningSha256, type ReceiptJson } from '@priorbook/sdk/wire'

const encoder = new TextEncoder()
const LINE_FEED = 10
const NINE = 57
// A venue, a key of 200 characters and 16 digits.
const ID_MAX = 256
const scratch = new Uint8Array(1 << 14)

/** The receipt of a walk while it grows; `sha256` does not depend on the sizes of the pages. */
export class Receipt {
  private rows = 0
  private gaps = 0
  private firstId = ''
  private lastId = ''
  private readonly hash: RunningSha256

  private constructor(hash: RunningSha256) {
    this.hash = hash
  }

  static create(): Receipt {
    return new Receipt(RunningSha256.create())
  }

  /** Goes on from what `toText` gave. */
  static fromText(text: string): Receipt {
    const [rows, gaps, hash, firstId, lastId] = text.split(' ')
    const receipt = new Receipt(RunningSha256.fromText(hash!))
    receipt.rows = Number(rows)
    receipt.gaps = Number(gaps)
    receipt.firstId = firstId!
    receipt.lastId = lastId!
    return receipt
  }

  toText(): string {
    return [this.rows, this.gaps, this.hash.toText(), this.firstId, this.lastId].join(' ')
  }

  /** Takes rows of one instrument; `step` is 1 or −1. */
  addRows(prefix: string, first: number, count: number, step: 1 | -1): void {
    if (count === 0) return
    const last = first + (count - 1) * step
    if (this.rows === 0) this.firstId = `${prefix}${first}`
    this.lastId = `${prefix}${last}`
    this.rows += count
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
      this.hash.update(scratch, 0, start)
      start = 0
    }
    this.hash.update(scratch, 0, start)
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
      sha256: this.hash.digest(),
      gaps,
    }
  }
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
