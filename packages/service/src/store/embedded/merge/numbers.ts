import { PriorbookError, type Gap } from '@priorbook/sdk/domain'
import type { RowHead } from '@priorbook/sdk/tape'
import { toChannel, toEpoch, toSubscription } from '../../../recorder/channel.ts'

// A store accepts a row when its journal number is above the applied position, and every batch raises
// that position. A merge goes instrument by instrument: its own steps count from 1, and the records of
// the merged journals are numbered above all steps.
const STEPS = 500_000_000
const FIRST = 1_000_000_000
// A channel holds the number of the record that noted its connection, times 65,536, below 2^52.
const MOST = 2 ** 36

/** The last journal record of a venue that one recorder applied, and the first that it still has. */
export type Applied = { readonly bound: number; readonly first: number | undefined }

/** Maps one recorder's journal numbers of a venue to those of the merged journal. */
export type Numbers = {
  /** Records after it were not in the tape when the merge began, and are left to the next merge. */
  readonly bound: number
  at(journal: number): number
  headOf(head: RowHead): RowHead
  /** Absent when the gap was not known yet at the bound; open again when its end was not. */
  gapOf(gap: Gap): Gap | undefined
}

/**
 * Numbers the journals of several recorders one after the other. Records that retention removed are
 * numbered before all others, so that the merged journal has no hole.
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
      // Gaps of retention or damage do not come from a record.
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
