import { createHash } from 'node:crypto'
import type { VenueId } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { definitionOf } from './registry.ts'
import * as a from './venuea/fixtures.testing.ts'
import * as b from './venueb/fixtures.testing.ts'
import * as c from './venuec/fixtures.testing.ts'

/** A frame, or an answer with its request. */
type Message = { readonly value: unknown; readonly request?: { readonly kind: string } }

const SPAN = { since: 1_789_999_000_000_000, until: 1_790_000_000_000_000 }
const SECOND = 1_789_999_500
const match = c.gammaMarket({
  slug: 'nba-lal-bos-2026-09-21',
  startDate: '2026-09-14T10:00:00Z',
  eventStartTime: '2026-09-21T23:00:00Z',
})

/** Messages of every kind whose rows or records are kept. */
const MESSAGES: Readonly<Record<VenueId, readonly Message[]>> = {
  venuea: [
    { value: a.bookFrame() },
    { request: { kind: 'topics' }, value: a.pageObject([a.topicObject()]) },
    { request: a.BOOK_REQUEST, value: a.bookObject() },
    { request: a.LAST_TRADE_REQUEST, value: { marketId: a.MARKET_ID, lastTradePrice: '0.53' } },
  ],
  venueb: [
    ...[b.snapshotMessage(), b.deltaMessage(), b.tradeMessage(), b.lifecycleMessage()].map(
      (value) => ({ value }),
    ),
    {
      request: { kind: 'event' },
      value: { event: b.eventObject(), markets: [b.marketObject(), b.legacyMarketObject()] },
    },
    { request: { kind: 'trades' }, value: { trades: [b.tradeObject()], cursor: '' } },
    {
      request: { kind: 'history_candles', ticker: b.TICKER, minutes: 1, ...SPAN } as never,
      value: {
        candlesticks: [
          { end_period_ts: SECOND, price: { open_dollars: '0.4000' }, volume_fp: '5.00' },
          { end_period_ts: SECOND + 60, price: { open: '0.4100' }, volume: '6.00' },
        ],
      },
    },
  ],
  venuec: [
    ...[
      c.bookMessage(),
      c.changeMessage(),
      c.flatChangeMessage(),
      c.tradeMessage(),
      c.tickMessage(),
      c.newMarketMessage(),
      c.resolvedMessage(),
      c.priceMessage(),
    ].map((value) => ({ value })),
    { request: { kind: 'gamma_market' }, value: c.gammaMarket() },
    { request: { kind: 'gamma_market' }, value: match },
    { request: { kind: 'clob_market' }, value: c.clobMarket() },
  ],
}

/** What the version of each normalizer makes of them. */
const KNOWN: Readonly<
  Record<VenueId, { readonly version: number; readonly messages: string; readonly events: string }>
> = {
  venuea: { version: 2, messages: 'db65775e3030e420', events: '9b9aa52ebe88c7ba' },
  venueb: { version: 6, messages: 'b7712ba7e316a220', events: '91549c99ee26162b' },
  venuec: { version: 5, messages: '6c78c26c2ed29480', events: '5c4e44a76f273a69' },
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}

describe('the version of a normalizer', () => {
  it.each(['venuea', 'venueb', 'venuec'] as const)(
    'of %s is raised when the same messages give other events',
    (venue) => {
      const { normalizer } = definitionOf(venue)
      const events = MESSAGES[venue].flatMap(({ value, request }) => {
        const normalized =
          request === undefined
            ? normalizer.frame(value, a.AT)
            : normalizer.answer(request, value, a.AT)
        expect(normalized.problems).toEqual([])
        return normalized.events
      })
      expect(events.length).toBeGreaterThan(3)
      // Other events for the same messages: raise the version. Other messages: take over both hashes.
      expect({
        version: normalizer.version,
        messages: hashOf(MESSAGES[venue]),
        events: hashOf(events),
      }).toEqual(KNOWN[venue])
    },
  )
})
