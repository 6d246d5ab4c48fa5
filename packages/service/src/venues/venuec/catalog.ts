import {
  PriorbookError,
  VENUES,
  type Json,
  type MarketRecord,
  type MarketRevision,
  type Micros,
} from '@priorbook/sdk/domain'
import type { Arrival, MessageProblem } from '../capture/contract.ts'
import {
  compact,
  readArray,
  readId,
  readObject,
  readText,
  type NativeObject,
} from '../capture/fields.ts'
import {
  parseGammaEvent,
  parseGammaMarket,
  readStatus,
  toOutcomes,
  winnerOf,
  type GammaEvent,
} from './gamma.ts'
import { optionalId, parseRoundSlug, readFlag, readInstant, roundStart } from './fields.ts'

/** The market records in a catalogue answer, and the parts of it that were malformed. */
export type CatalogAnswer = {
  readonly events: readonly MarketRevision[]
  readonly problems: readonly MessageProblem[]
}

/** Reads Gamma's markets: one object (`/markets/{id}`) or a list of them (`/markets`). */
export function normalizeGammaMarkets(answer: unknown, at: Arrival): CatalogAnswer {
  const reader = new CatalogReader(at)
  if (Array.isArray(answer)) reader.readGammaMarkets(answer, '', undefined)
  else reader.readGammaMarket(readObject(answer, 'the answer'), '', undefined)
  return reader.finish()
}

/** Reads Gamma's events with the markets inside: one event, a list, or `{events}` of a search. */
export function normalizeGammaEvents(answer: unknown, at: Arrival): CatalogAnswer {
  const reader = new CatalogReader(at)
  if (Array.isArray(answer)) {
    answer.forEach((event: unknown, index) => reader.readEvent(event, `[${index}]`))
    return reader.finish()
  }
  const object = readObject(answer, 'the answer')
  if (object['events'] === undefined) reader.readEvent(object, '')
  else {
    readArray(object['events'], 'events').forEach((event, index) => {
      reader.readEvent(event, `events[${index}]`)
    })
  }
  return reader.finish()
}

/** Reads CLOB's markets: one object (`/markets/{condition}`) or a page `{data, next_cursor}`. */
export function normalizeClobMarkets(answer: unknown, at: Arrival): CatalogAnswer {
  const reader = new CatalogReader(at)
  const object = readObject(answer, 'the answer')
  if (object['data'] === undefined) reader.readClobMarket(object, '')
  else {
    readArray(object['data'], 'data').forEach((market, index) => {
      reader.readClobMarket(market, `data[${index}]`)
    })
  }
  return reader.finish()
}

class CatalogReader {
  readonly #at: Arrival
  readonly #events: MarketRevision[] = []
  readonly #problems: MessageProblem[] = []

  constructor(at: Arrival) {
    this.#at = at
  }

  finish(): CatalogAnswer {
    // An answer that consists of one malformed object is malformed as a whole.
    const [problem] = this.#problems
    if (problem !== undefined && problem.where === '' && this.#events.length === 0) {
      throw problem.error
    }
    return { events: this.#events, problems: this.#problems }
  }

  readEvent(value: unknown, where: string): void {
    this.#attempt(where, () => {
      const object = readObject(value, 'the event')
      const event = parseGammaEvent(object)
      const markets = object['markets'] ?? []
      this.readGammaMarkets(readArray(markets, 'markets'), `${where}.markets`, event)
    })
  }

  readGammaMarkets(
    markets: readonly unknown[],
    where: string,
    event: GammaEvent | undefined,
  ): void {
    markets.forEach((market, index) => this.readGammaMarket(market, `${where}[${index}]`, event))
  }

  readGammaMarket(value: unknown, where: string, event: GammaEvent | undefined): void {
    this.#attempt(where, () => {
      this.#keep(parseGammaMarket(readObject(value, 'the market'), this.#at.received, event))
    })
  }

  readClobMarket(value: unknown, where: string): void {
    this.#attempt(where, () => {
      const market: NativeObject = readObject(value, 'the market')
      this.#keep(parseClobMarket(market, this.#at.received))
    })
  }

  #keep(record: MarketRevision['record']): void {
    const { received, journal } = this.#at
    this.#events.push({ kind: 'market', record, received, journal })
  }

  #attempt(where: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#problems.push({ where, error })
    }
  }
}

/**
 * Parses a market of CLOB, in the long form (`condition_id`, `tokens`) or the compact one of
 * `/clob-markets` (`c`, `t`). The record has no close time, because `end_date_iso` is only a day, and no
 * resolution unless a winner is named.
 */
export function parseClobMarket(market: NativeObject, received: Micros): MarketRecord {
  if (market['condition_id'] === undefined && market['c'] !== undefined) {
    return parseCompactMarket(market)
  }
  const marketId = readId(market['condition_id'], 'condition_id')
  const tokens = readArray(market['tokens'] ?? [], 'tokens').map((token) =>
    readObject(token, 'a token'),
  )
  const winners = tokens.map((token) => readFlag(token['winner'], 'winner') === true)
  const closed = readFlag(market['closed'], 'closed')
  const isFinal = closed === true && winners.filter(Boolean).length === 1
  const flagged = readStatus(
    {
      active: readFlag(market['active'], 'active'),
      closed,
      archived: readFlag(market['archived'], 'archived'),
      acceptingOrders: readFlag(market['accepting_orders'], 'accepting_orders'),
      acceptingSince: readInstant(market['accepting_order_timestamp'], 'accepting_order_timestamp'),
      closeTime: undefined,
      resolution: isFinal ? 'resolved' : undefined,
    },
    received,
  )
  const payouts = isFinal ? winners.map((wins) => (wins ? '1' : '0')) : undefined
  const outcomes = toOutcomes(
    tokens.map((token) => token['outcome']),
    tokens.map((token) => token['token_id']),
  )
  const slug = readText(market['market_slug'], 'market_slug')
  const round = slug === undefined ? undefined : parseRoundSlug(slug)
  const question = readText(market['question'], 'question')
  return compact<MarketRecord>({
    venue: 'venuec',
    marketId,
    title: question,
    status: flagged.status,
    statusNative: flagged.statusNative,
    openTime: round === undefined ? undefined : roundStart(round),
    resolution: payouts === undefined ? undefined : { state: 'final', payouts },
    winningOutcome: winnerOf(outcomes, payouts),
    outcomes,
    units: VENUES.venuec.units,
    conditionId: marketId,
    questionId: optionalId(market['question_id'], 'question_id'),
    question,
    slug,
    asset: round?.asset,
    window: round?.window,
    native: { clob: market as Json },
  })
}

function parseCompactMarket(market: NativeObject): MarketRecord {
  const marketId = readId(market['c'], 'c')
  const tokens = readArray(market['t'] ?? [], 't').map((token) => readObject(token, 'a token'))
  return {
    venue: 'venuec',
    marketId,
    outcomes: toOutcomes(
      tokens.map((token) => token['o']),
      tokens.map((token) => token['t']),
    ),
    units: VENUES.venuec.units,
    conditionId: marketId,
    native: { clob_info: market as Json },
  }
}
