import { describe, expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import { toReading } from '../capture/contract.ts'
import type { Rest, RestAnswer, RestCall } from '../capture/rest.ts'
import { CatalogClient } from './pages.ts'
import { AT, clobMarket, gammaMarket, MARKET } from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

const signal = new AbortController().signal
const normalizer = createVenueCNormalizer()
type Listed = { readonly id: number; ends: number }

const FROM = Date.parse('2026-09-21T14:00:00Z')

describe('the list of markets that end soon', () => {
  it('is read page by page', async () => {
    const { client, calls } = clientOf(350)
    const listed = await client.endingBetween(FROM, FROM + 350, signal)
    expect(new Set(listed?.map(({ conditionId }) => conditionId)).size).toBe(350)
    const offsets = calls.map(({ query }) => query?.['offset'])
    expect(offsets).toStrictEqual(['0', '100', '200', '300'])
    expect(calls.every(({ keep }) => keep === false)).toBe(true)
  })

  it('is halved where an offset does not reach its end', async () => {
    const { client, calls } = clientOf(25_000)
    const listed = await client.endingBetween(FROM, FROM + 25_000, signal)
    expect(new Set(listed?.map(({ conditionId }) => conditionId)).size).toBe(25_000)
    expect(calls.every(({ query }) => Number(query?.['offset']) <= 10_000)).toBe(true)
  })

  it('is absent where Gamma fails', async () => {
    const { client } = clientOf(350, 2)
    expect(await client.endingBetween(FROM, FROM + 350, signal)).toBeUndefined()
  })
})

describe('a walk over the list', () => {
  // The number is how many markets end between two requests. The end of one more is moved to a later time.
  it.each([0, 1, 6, 40])(
    'misses none that stays, whichever end or are put off meanwhile: %i',
    async (endings) => {
      const random = createRandom(endings)
      const draw = (list: readonly Listed[]): number => Math.floor(random() * list.length)
      const listed: Listed[] = Array.from({ length: 3000 }, (_, id) => ({
        id,
        ends: FROM + (id % 900),
      }))
      const seen = new Set<number>()
      const send = (call: RestCall): Promise<RestAnswer> => {
        const query = call.query as Record<string, string>
        const order = query['order'] === 'id' ? 'id' : 'ends'
        const sign = query['ascending'] === 'true' ? 1 : -1
        const ordered = listed.toSorted((a, b) => sign * (a[order] - b[order]))
        const offset = Number(query['offset'])
        expect(offset).toBeLessThanOrEqual(10_000)
        const page = ordered.slice(offset, offset + 100)
        for (const { id } of page) seen.add(id)
        for (let ended = 0; ended < endings; ended++) listed.splice(draw(listed), 1)
        const delayed = listed[draw(listed)]
        if (delayed !== undefined) delayed.ends = FROM + 999
        const value = page.map(({ id }) => ({ id: String(id), slug: 'a', conditionId: `0x${id}` }))
        return Promise.resolve({ ok: true, value, reading: { events: [], problems: [] } })
      }
      const client = create({ send }, () => undefined)
      expect(await client.listEnding(FROM, FROM + 1000, signal)).toBe(true)
      expect(seen.size).toBeGreaterThan(400)
      expect(listed.filter(({ id }) => !seen.has(id))).toEqual([])
    },
  )
})

describe('a list in another order', () => {
  it('fails the walk instead of being read for ever', async () => {
    let calls = 0
    const send = (call: RestCall): Promise<RestAnswer> => {
      calls++
      const offset = Number((call.query as Record<string, string>)['offset'])
      const count = Math.max(0, Math.min(100, 1000 - offset))
      const value = Array.from({ length: count }, (_, at) => ({
        id: String(1000 - offset - at),
        slug: 'a',
        conditionId: `0x${offset + at}`,
      }))
      return Promise.resolve({ ok: true, value, reading: { events: [], problems: [] } })
    }
    const client = create({ send }, () => undefined)
    expect(await client.listEnding(FROM, FROM + 1000, signal)).toBe(false)
    expect(calls).toBeLessThan(1000)
  })
})

describe('markets', () => {
  it('are requested with at most a hundred conditions per request', async () => {
    const { client, calls } = clientOf(0)
    await client.byCondition(
      Array.from({ length: 250 }, (_, index) => `0x${index}`),
      true,
      signal,
    )
    const sizes = calls.map(({ query }) => query?.['condition_ids']?.length)
    expect(sizes).toStrictEqual([100, 100, 50])
    expect(calls[0]).toMatchObject({
      request: { kind: 'gamma_markets' },
      query: { closed: 'true' },
    })
  })

  it('are handed on, and a malformed answer is skipped', async () => {
    const records: string[] = []
    const answers: RestAnswer[] = [
      answerOf('gamma_markets', [gammaMarket(), 5]),
      answerOf('gamma_markets', 'none'),
      answerOf('clob_market', clobMarket()),
      { ok: false, status: 404, why: 'not found' },
    ]
    const rest: Rest = { send: () => Promise.resolve(answers.shift()!) }
    const client = create(rest, (id) => records.push(id))
    expect(await client.byCondition([MARKET], false, signal)).toStrictEqual(new Set([MARKET]))
    expect(await client.byCondition([MARKET], false, signal)).toStrictEqual(new Set())
    expect(await client.clobMarket(MARKET, signal)).toBe(true)
    expect(await client.clobMarket(MARKET, signal)).toBe(false)
    expect(records).toStrictEqual([MARKET, MARKET])
  })
})

/** A Gamma with one market for every millisecond from FROM on. */
function clientOf(
  markets: number,
  failAt = Infinity,
): { client: CatalogClient; calls: RestCall[] } {
  const calls: RestCall[] = []
  const send = (call: RestCall): Promise<RestAnswer> => {
    calls.push(call)
    if (calls.length >= failAt) return Promise.resolve({ ok: false, why: 'down' })
    const query = call.query as Record<string, string>
    const from = Math.max(0, Date.parse(query['end_date_min'] ?? '') - FROM)
    const to = Math.min(markets - 1, Date.parse(query['end_date_max'] ?? '') - FROM)
    const first = from + Number(query['offset'])
    const count = Math.max(0, Math.min(100, to - first + 1))
    const value = Array.from({ length: count }, (_, index) => ({
      slug: 'a',
      conditionId: `0x${first + index}`,
    }))
    return Promise.resolve({ ok: true, value, reading: { events: [], problems: [] } })
  }
  return { client: create({ send }, () => undefined), calls }
}

function answerOf(kind: string, value: unknown): RestAnswer {
  return { ok: true, value, reading: toReading(() => normalizer.answer({ kind }, value, AT)) }
}

function create(rest: Rest, onId: (id: string) => void): CatalogClient {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  return new CatalogClient({
    gamma: rest,
    clob: rest,
    log,
    tell: (request) => request,
    onRecord: ({ marketId }) => onId(marketId),
  })
}
