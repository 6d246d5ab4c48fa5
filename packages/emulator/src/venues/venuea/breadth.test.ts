import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator } from '../../emulator.ts'
import { sign } from './auth.ts'

type Market = {
  readonly marketId: number
  readonly title: string
  readonly tradeVolume: string
  readonly outcomes: readonly { readonly name: string; readonly tokenId: string }[]
}
type Topic = {
  readonly marketTopicId: number
  readonly title: string
  readonly topicType: string
  readonly symbol?: string
  readonly endDate: number
  readonly tradeVolume: string
  readonly markets: readonly Market[]
}
type Page = { readonly marketTopics: readonly Topic[]; readonly total: number; hasMore: boolean }

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({
    seed: 'broad-a',
    // No round begins or ends for three minutes.
    start: Date.UTC(2026, 10, 17, 12, 2),
    venues: ['venuea'],
    breadth: { venuea: 150 },
    rates: { breadth: 50 },
    log: { memory: true, books: false },
  })
})
afterAll(() => emulator.close())

async function ask<Answer>(
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const { rest, apiKey, apiSecret } = emulator.addresses.venuea!
  const query = new URLSearchParams({
    ...parameters,
    timestamp: String(emulator.world.now('venuea')),
  })
  query.append('signature', sign(query.toString(), apiSecret))
  const answer = await fetch(`${rest}/${path}?${query.toString()}`, {
    headers: { 'x-mbx-apikey': apiKey },
  })
  return (await answer.json()) as Answer
}

async function listAll(parameters: Readonly<Record<string, string>>): Promise<Topic[]> {
  const topics: Topic[] = []
  for (;;) {
    const offset = String(topics.length)
    const page = await ask<Page>('market/list', { ...parameters, limit: '100', offset })
    topics.push(...page.marketTopics)
    if (!page.hasMore) return topics
  }
}

describe('the broad world of venue A', () => {
  it('lists topics of every category, each once, beside the rounds', async () => {
    type Categories = { categories: { id: string; name: string }[] }
    const { categories } = await ask<Categories>('category/list')
    expect(categories[0]).toMatchObject({ id: 'crypto', name: 'Crypto' })
    expect(categories.length).toBeGreaterThan(3)
    const before = await listAll({})
    const byCategory: Topic[] = []
    for (const { id } of categories) byCategory.push(...(await listAll({ l1Category: id })))
    const all = await listAll({})
    const idsOf = (topics: readonly Topic[]): number[] =>
      topics.map(({ marketTopicId }) => marketTopicId).toSorted((a, b) => a - b)
    // Topics begin and end between two requests: those listed before and after were listed throughout.
    const listed = [new Set(idsOf(before)), new Set(idsOf(all))]
    const stayed = (id: number): boolean => listed.every((ids) => ids.has(id))
    const seen = idsOf(byCategory)
    expect(seen.filter(stayed)).toEqual(idsOf(all).filter(stayed))
    expect(seen.every((id) => listed.some((ids) => ids.has(id)))).toBe(true)
    expect(new Set(idsOf(all)).size).toBe(all.length)
    const markets = all.flatMap((topic) => topic.markets)
    expect(new Set(markets.map(({ marketId }) => marketId)).size).toBe(markets.length)
    const rounds = await listAll({ l1Category: 'crypto', l2Category: 'up-down' })
    expect(rounds.every(({ symbol }) => symbol !== undefined)).toBe(true)
    expect(markets.length - rounds.length).toBeGreaterThanOrEqual(150)
  })

  it('has several markets in one topic, whose volumes add up, with books and details', async () => {
    const topics = await listAll({ sortBy: 'VOLUME' })
    const grouped = topics.find(
      ({ topicType, tradeVolume }) => topicType === 'GROUPED' && tradeVolume !== '0.00',
    )!
    expect(grouped.markets.length).toBeGreaterThan(1)
    const cents = (text: string): number => Math.round(Number(text) * 100)
    const sum = grouped.markets.reduce((total, one) => total + cents(one.tradeVolume), 0)
    expect(Math.abs(sum - cents(grouped.tradeVolume))).toBeLessThanOrEqual(grouped.markets.length)
    const marketTopicId = String(grouped.marketTopicId)
    const detail = await ask<Topic>('market/detail', { marketTopicId })
    expect(detail.markets.map(({ marketId }) => marketId)).toEqual(
      grouped.markets.map(({ marketId }) => marketId),
    )
    const [market] = grouped.markets
    const [outcome] = market!.outcomes
    const query = { vendor: 'PREDICT_FUN', marketId: String(market!.marketId) }
    const book = await ask('order-book', { ...query, tokenId: outcome!.tokenId })
    expect(book).toMatchObject({ outcome: outcome!.name, tokenId: outcome!.tokenId })
  })
})
