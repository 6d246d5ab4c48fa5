import { PriorbookError, type MarketRevision, type Sample } from '@priorbook/sdk/domain'
import type { Arrival, MessageProblem } from '../capture/contract.ts'
import { readArray, readObject, wrong, type NativeObject } from '../capture/fields.ts'
import { optionalMetric } from './fields.ts'
import { parseMarket, readTokenId, type NativeTopic, type ParsedMarket } from './market.ts'

/** What a catalogue answer says: a revision and samples per market, and what of it was malformed. */
export type CatalogAnswer = {
  readonly events: readonly (MarketRevision | Sample)[]
  readonly problems: readonly MessageProblem[]
}

/** Reads an answer of GET market/list: `{marketTopics, total, offset, limit, hasMore}`. */
export function normalizeTopics(answer: unknown, at: Arrival): CatalogAnswer {
  const object = readObject(answer, 'the list of topics')
  const reader = new CatalogReader(at, 'topic')
  reader.readTopics(object['marketTopics'], 'marketTopics')
  return reader.result()
}

/** Reads an answer of GET market/detail: one topic. */
export function normalizeTopic(answer: unknown, at: Arrival): CatalogAnswer {
  const object = readObject(answer, 'the topic')
  if (object['marketTopicId'] === undefined) throw wrong('the answer', answer, 'a topic')
  const reader = new CatalogReader(at, 'topic')
  reader.readTopic(object, 'topic')
  return reader.result()
}

/** Reads an answer of GET market/search: an array of topics. */
export function normalizeSearch(answer: unknown, at: Arrival): CatalogAnswer {
  const reader = new CatalogReader(at, 'topic')
  reader.readTopics(answer, 'topics')
  return reader.result()
}

/**
 * Reads an answer of Predict.fun's GET /markets, /markets/{id}, /categories or /categories/{slug}:
 * `{success, data}`, data being a market, a category with its markets, or an array of either.
 */
export function normalizePredictCatalog(answer: unknown, at: Arrival): CatalogAnswer {
  const { data } = readObject(answer, 'the answer')
  const reader = new CatalogReader(at, 'category')
  const many = Array.isArray(data)
  const items: readonly unknown[] = many ? data : [data]
  items.forEach((item, index) => {
    const where = many ? `data[${index}]` : 'data'
    reader.attempt(where, () => {
      const object = readObject(item, where)
      if (object['markets'] === undefined) reader.readMarket(object, undefined, where)
      else reader.readTopic(object, where)
    })
  })
  return reader.result()
}

/** The metrics that an outcome of the catalogue carries; series of their own, never merged. */
const METRICS = ['chance', 'price'] as const

class CatalogReader {
  readonly #events: (MarketRevision | Sample)[] = []
  readonly #problems: MessageProblem[] = []
  readonly #at: Arrival
  readonly #word: NativeTopic['word']

  constructor(at: Arrival, word: NativeTopic['word']) {
    this.#at = at
    this.#word = word
  }

  result(): CatalogAnswer {
    return { events: this.#events, problems: this.#problems }
  }

  readTopics(value: unknown, where: string): void {
    readArray(value, where).forEach((topic, index) => {
      const place = `${where}[${index}]`
      this.attempt(place, () => this.readTopic(readObject(topic, place), place))
    })
  }

  readTopic(topic: NativeObject, where: string): void {
    const { markets, ...own } = topic
    const list = readArray(markets, `${where}.markets`)
    const parent = { own, markets: list.length, word: this.#word }
    list.forEach((market, index) => {
      const place = `${where}.markets[${index}]`
      this.attempt(place, () => this.readMarket(readObject(market, place), parent, place))
    })
  }

  readMarket(market: NativeObject, topic: NativeTopic | undefined, where: string): void {
    const { received, journal } = this.#at
    const parsed = parseMarket(market, topic, where)
    this.#problems.push(...parsed.problems)
    this.#events.push({ kind: 'market', record: parsed.record, received, journal })
    this.#readSamples(parsed, where)
  }

  /** Runs one part of the reading; what is malformed in it becomes a problem. */
  attempt(where: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#problems.push({ where, error })
    }
  }

  #readSamples({ record, outcomes }: ParsedMarket, where: string): void {
    const { received, journal } = this.#at
    outcomes.forEach((outcome, index) => {
      for (const metric of METRICS) {
        const place = `${where}.outcomes[${index}].${metric}`
        this.attempt(place, () => {
          const value = optionalMetric(outcome[metric], metric)
          if (value === undefined) return
          const key = readTokenId(outcome)
          if (key === undefined) throw wrong('tokenId', undefined, 'the token of the sample')
          const instrument = { venue: 'venuea' as const, market: record.marketId, key }
          this.#events.push({ kind: 'sample', instrument, metric, value, received, journal })
        })
      }
    })
  }
}
