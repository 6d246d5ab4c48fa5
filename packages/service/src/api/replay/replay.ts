import type { Micros } from '@priorbook/sdk/domain'

/** Where the messages of a replay go. */
export interface ReplayOutput {
  /** One message as text or as its UTF-8 bytes, which are never changed afterwards; false: wait for `drained`. */
  send(message: string | Uint8Array): boolean
  drained(): Promise<void>
}

/** A replay that runs. */
export interface Replay {
  readonly id: string
  pause(): void
  resume(): void
  /** Goes on from another time of the range; throws `Problem` for one outside it. */
  seek(time: Micros): void
  stop(): void
  /** Resolves once nothing more is sent, whatever the reason; never rejects. */
  readonly ended: Promise<void>
  /** Why the replay broke off, if it did; the client was told. */
  readonly failure: unknown
}

/** The time that passes while a replay plays, in milliseconds that never go back. */
export interface ReplayClock {
  now(): number
  /** Calls back after so many milliseconds unless cancelled. */
  after(ms: number, wake: () => void): () => void
}

/** The machine's monotonic clock. */
export const MONOTONIC: ReplayClock = {
  now: () => performance.now(),
  after(ms, wake) {
    const timer = setTimeout(wake, ms)
    return () => clearTimeout(timer)
  },
}
