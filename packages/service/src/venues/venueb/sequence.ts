/** How a message's number stands to the one before it in its subscription. */
export type SeqStep = 'first' | 'next' | 'jump' | 'old'

/** Follows the numbers of all subscriptions of one connection. */
export interface Sequences {
  /** Every message of a subscription that carries a number counts, control messages too. */
  check(sid: number, seq: number): SeqStep
  /** The last number in order, absent where none was heard. */
  last(sid: number): number | undefined
  /** A new connection: sids and numbers start anew. */
  clear(): void
}

/** Creates the memory of numbers; the first number of a sid is taken as it comes (22 was recorded). */
export function createSequences(): Sequences {
  const lasts = new Map<number, number>()
  return {
    check(sid, seq) {
      const last = lasts.get(sid)
      if (last !== undefined && seq <= last) return 'old'
      lasts.set(sid, seq)
      if (last === undefined) return 'first'
      return seq === last + 1 ? 'next' : 'jump'
    },
    last: (sid) => lasts.get(sid),
    clear: () => lasts.clear(),
  }
}
