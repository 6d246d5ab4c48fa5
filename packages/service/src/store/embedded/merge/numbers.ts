import { PriorbookError, type Gap } from '@priorbook/sdk/domain'
import type { RowHead } from '@priorbook/sdk/tape'
import { toChannel, toEpoch, toSubscription } from '../../../recorder/channel.ts'

// A store takes a row when its journal number is above the applied position, and every batch moves
// that position on. A merge goes instrument by instrument: its own steps count from 1, records of the
// merged journals above all steps.
const STEPS = 500_000_000
const FIRST = 1_000_000_000
// A channel holds the number of the record that noted its connection, times 65,536, below 2^52.
const MOST = 2 ** 36

/** How many journal records one recorder applied of a venue, and the first that it still has. */
export type Applied = { readonly bound: number; readonly first: number | undefined }

/** Turns one recorder's journal numbers of a venue into those of the merged journal. */
export type Numbers = {
  /** Records after it were not in the tape when the merge began, and are left to the next merge. */
  readonly bound: number
  at(journal: number): number
  headOf(head: RowHead): RowHead
  /** Absent when the gap was not known yet at the bound; open again when its end was not. */
  gapOf(gap: Gap): Gap | undefined
}

/**
 * Numbers the journals of several recorders one behind the other. What retention removed is numbered
 * before all that is left, so that the merged journal has no hole and its numbers are all taken.
 */
export function planNumbers(applied: readonly Applied[]): { all: Numbers[]; last: number } {
  let next = FIRST
  const removed = applied.map(({ bound, first = bound + 1 }) => {
    const count = Math.min(first - 1, bound)
    const before = next
    next += count
    return { count, before }
  })
  const all = applied.map(({ bound }, index) => {
    const { count, before } = removed[index]!
    const kept = next - count
    next += bound - count
    return toNumbers(bound, (journal) => {
      // A gap of retention or damage comes from no record.
      if (journal === 0) return FIRST
      return (journal <= count ? before : kept) + journal
    })
  })
  if (next >= MOST) {
    throw new PriorbookError('unrepresentable', 'the journals together have too many records')
  }
  return { all, last: next }
}

/** The number of a revision of a market that several recorders know: their journals have no common order. */
export function toRevisionNumber(ordinal: number): number {
  return STEPS + ordinal
}

function toNumbers(bound: number, at: (journal: number) => number): Numbers {
  return {
    bound,
    at,
    headOf(head) {
      const { channel, journal } = head
      const epoch = toEpoch(channel)
      if (epoch === 0) return { ...head, journal: at(journal) }
      return {
        ...head,
        journal: at(journal),
        channel: toChannel(at(epoch), toSubscription(channel)),
      }
    },
    gapOf(gap) {
      if (gap.journal > bound) return undefined
      const { end, sourceEnd, endJournal, ...open } = gap
      const from = { ...open, journal: at(gap.journal) }
      if (end === undefined || (endJournal ?? 0) > bound) return from
      return {
        ...from,
        end,
        ...(sourceEnd === undefined ? {} : { sourceEnd }),
        ...(endJournal === undefined ? {} : { endJournal: at(endJournal) }),
      }
    },
  }
}
