import { toMicros, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { UnfollowedBooks } from '../capture/unfollowed-books.ts'
import type { CaptureNote } from '../capture/contract.ts'
import { VenueCMarkets, withSureClose } from './markets.ts'

const CLOSE_MS = 1_790_000_000_000

// What trades past its expected end has not closed when the rules of selection give its books up.
it.each([
  ['a round', '5m', 'market_closed'],
  ['another market', undefined, 'not_selected'],
])(
  'books of %s that are given up after its close have the reason of the market',
  (_, window, reason) => {
    const markets = new VenueCMarkets(() => true, 1)
    const record: MarketRecord = {
      venue: 'venuec',
      marketId: 'M',
      status: 'open',
      closeTime: toMicros(CLOSE_MS * 1000),
      outcomes: [],
      units: VENUES.venuec.units,
      native: {},
      ...(window === undefined ? {} : { window }),
    }
    const market = withSureClose(markets.update(record)!)
    const notes: CaptureNote[] = []
    const unfollowed = new UnfollowedBooks({
      book: () => ({ isOpen: true, changedLevels: 0, relate: () => 'first' }),
      note: (note) => void notes.push(note),
    })
    for (const ms of [1000, 5000]) {
      unfollowed.check([{ market, keys: ['T'], isSelected: false }], CLOSE_MS + ms)
    }
    expect(notes).toMatchObject([{ reason, keys: ['T'] }])
  },
)
