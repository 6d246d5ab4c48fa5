import { VENUES, type Instrument, type MarketRecord } from '@priorbook/sdk/domain'

/** The record of a market that no catalogue answer has named yet: its identity and nothing else. */
export function toBareMarket({ venue, market }: Instrument, message: unknown): MarketRecord {
  const units = VENUES[venue].units
  switch (venue) {
    case 'venuea':
      return { venue, marketId: market, outcomes: [], units, native: {} }
    case 'venueb': {
      const id = socketId(message)
      return {
        venue,
        marketId: market,
        outcomes: [
          { label: 'Yes', index: 0 },
          { label: 'No', index: 1 },
        ],
        units,
        native: id === undefined ? {} : { market_id: id },
      }
    }
    case 'venuec':
      return { venue, marketId: market, conditionId: market, outcomes: [], units, native: {} }
  }
}

// The UUID of a market stands only in messages of the socket.
function socketId(message: unknown): string | undefined {
  const id = (message as { msg?: { market_id?: unknown } } | undefined)?.msg?.market_id
  return typeof id === 'string' ? id : undefined
}
