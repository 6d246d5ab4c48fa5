import { flagNames, printMicros, printScaled, VENUES } from '../domain/index.ts'
import type { LadderSide } from '../tape/index.ts'
import { toGapJson, toMarketJson } from '../wire/index.ts'
import type { ReplayEvent } from '../replay/index.ts'

/** One event of a replay as a JSON line, in the words of the stream; decimals as text. */
export function eventLine(event: ReplayEvent, depth = Infinity): string {
  return JSON.stringify(toValue(event, depth))
}

function toValue(event: ReplayEvent, depth: number): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case 'book': {
      const { instrument, ladder, flags } = event
      const side = ({ price, size }: LadderSide): object => ({
        price: price.map((ticks) => printScaled(ticks, ladder.decimals)),
        size: size.map((units) => printScaled(units, instrument.sizeDecimals)),
      })
      return {
        type: 'book',
        id: `${instrument.venue}:${instrument.key}:${event.sequence}`,
        ...placeOf(event),
        flags: flagNames(flags),
        bid_levels: ladder.bidLevels,
        ask_levels: ladder.askLevels,
        bids: side(ladder.bids(depth)),
        asks: side(ladder.asks(depth)),
      }
    }
    case 'trade': {
      const { instrument } = event
      const { priceDecimals, sizeDecimals } = VENUES[instrument.venue]
      return {
        type: 'trade',
        id: `${instrument.venue}:${instrument.key}/trade:${event.sequence}`,
        ...placeOf(event),
        trade_id: event.tradeId,
        price: printScaled(event.price, priceDecimals),
        size: printScaled(event.size, sizeDecimals),
        taker_side: event.taker ?? null,
        flags: flagNames(event.flags),
      }
    }
    case 'sample': {
      const { instrument, metric, value } = event
      return {
        type: 'sample',
        id: `${instrument.venue}:${instrument.key}/${metric}:${event.sequence}`,
        ...placeOf({ ...event, source: undefined }),
        [metric]: value,
      }
    }
    case 'market':
      return {
        type: 'market',
        ...toMarketJson({ record: event.record, knownAt: event.at }, { numberFormat: 'string' }),
      }
    case 'gap':
      return { type: 'gap', edge: event.edge, ...toGapJson(event.gap) }
  }
}

type Placed = Pick<
  Extract<ReplayEvent, { readonly kind: 'book' }>,
  'instrument' | 'at' | 'source' | 'sequence'
>

function placeOf({ instrument, at, source, sequence }: Placed): Readonly<Record<string, unknown>> {
  return {
    venue: instrument.venue,
    market_id: instrument.marketId,
    outcome: instrument.outcome ?? null,
    token_id: instrument.tokenId ?? null,
    source_time: source === undefined ? null : printMicros(source),
    received_time: printMicros(at),
    sequence,
  }
}
