import { Problem } from '@priorbook/sdk/wire'
import type { TempReservation, TempSpace } from '../route.ts'

// A day of a busy family as files of another tool needs a few GB.
const DEFAULT_BYTES = 8e9
const RETRY_SECONDS = 30

/** Space of so many bytes. */
export class BoundedSpace implements TempSpace {
  readonly #maxBytes: number
  #used = 0
  #evict: () => boolean = () => false

  constructor(maxBytes = DEFAULT_BYTES) {
    this.#maxBytes = maxBytes
  }

  onFull(evict: () => boolean): void {
    const before = this.#evict
    this.#evict = () => evict() || before()
  }

  reserve(): TempReservation {
    return new Reservation(this.#maxBytes, (bytes) => this.#take(bytes))
  }

  #take(bytes: number): void {
    while (this.#used + bytes > this.#maxBytes && this.#evict()) continue
    if (this.#used + bytes > this.#maxBytes) throw noSpace()
    this.#used += bytes
  }
}

class Reservation implements TempReservation {
  readonly #maxBytes: number
  readonly #take: (bytes: number) => void
  #bytes = 0

  constructor(maxBytes: number, take: (bytes: number) => void) {
    this.#maxBytes = maxBytes
    this.#take = take
  }

  add(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) {
      throw new Problem('invalid_parameter', `the files need more than ${this.#maxBytes} bytes`, {
        param: 'format',
        hint: 'Ask for a shorter range.',
      })
    }
    this.#take(bytes)
    this.#bytes += bytes
  }

  release(): void {
    this.#take(-this.#bytes)
    this.#bytes = 0
  }
}

/** The problem of a request that finds no space: other requests use it, or the disk is full. */
export function noSpace(): Problem {
  return new Problem('busy', 'there is no space on disk for the files of this request', {
    retryAfter: RETRY_SECONDS,
    hint: 'Try again later, or ask for a shorter range.',
  })
}

/** True where a write failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ENOSPC|EDQUOT)$/.test(String(error.code))
}

/** Where a context names no space of its own. */
export const DEFAULT_SPACE: TempSpace = new BoundedSpace()
