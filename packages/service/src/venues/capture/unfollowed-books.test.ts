import { expect, it } from 'vitest'
import type { CapturedBook, CaptureNote } from './contract.ts'
import type { FollowedMarket } from './followed-markets.ts'
import { UnfollowedBooks, type UnfollowedMarket } from './unfollowed-books.ts'

const CLOSE_MS = 10_000

function check(
  steps: readonly (readonly [nowMs: number, isSelected: boolean])[],
  changes: Partial<FollowedMarket> = {},
): unknown[] {
  const notes: CaptureNote[] = []
  const books = new UnfollowedBooks({
    book: () => ({ isOpen: true }) as CapturedBook,
    note: (note) => void notes.push(note),
  })
  const market = { marketId: 'M', openMs: 0, closeMs: CLOSE_MS, status: undefined, ...changes }
  for (const [nowMs, isSelected] of steps) {
    const unfollowed: UnfollowedMarket = { market, keys: ['K'], isSelected }
    books.check([unfollowed], nowMs)
  }
  return notes.map((note) => 'reason' in note && note.reason)
}

it.each([
  ['that is past its close', [11_000, 13_000], true, {}, ['market_closed']],
  ['that was left before its close', [9000, 11_000], true, {}, ['disconnected']],
  ['that the rules gave up before its close', [9000, 11_000], false, {}, ['not_selected']],
  ['that the rules gave up after its close', [11_000, 13_000], false, {}, ['market_closed']],
  ['that ended before its close', [8000, 10_000], true, { status: 'closed' }, ['market_closed']],
  ['that opens later', [5000, 7000], true, { openMs: 9000 }, ['market_not_open']],
  ['that was left a moment ago', [11_000, 12_900], true, {}, []],
] as const)(
  'a book of a market %s ends with its reason',
  (_, times, isSelected, changes, reasons) => {
    expect(
      check(
        times.map((nowMs) => [nowMs, isSelected] as const),
        changes,
      ),
    ).toEqual(reasons)
  },
)
