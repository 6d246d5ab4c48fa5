import { PriorbookError, type MarketRevision } from '@priorbook/sdk/domain'
import type { Arrival, MessageProblem } from '../capture/contract.ts'
import { readArray, readObject, type NativeObject } from '../capture/fields.ts'
import { parseClobMarket } from './clob.ts'
import { parseGammaEvent, parseGammaMarket, type GammaEvent } from './gamma.ts'

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
