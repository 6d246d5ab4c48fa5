import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Proposition, TopicProposition } from '../../packages/emulator/src/core/upstream.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { createEmulatedHome } from './emulated-home.ts'
import { withApi, type Api } from './past-api.ts'
import { startCommand } from './past-trades.ts'
import { until } from './recorder-process.ts'

const RULES = [
  { category: 'Politics', tier: 'full' },
  { category: 'Sports', tier: 'catalogue' },
  { asset: 'BTC', tier: 'full' },
]
const RECORDED_MS = 45_000

type MarketRow = {
  readonly market_id: string
  readonly condition: { readonly question: string | null }
  readonly category: string | null
  readonly asset: string | null
  readonly status: string
  readonly capture: { readonly tier: string; readonly why: string } | null
}

const isQuestion = (market: Proposition): market is TopicProposition => market.topic !== undefined

type SampleRow = { readonly value?: string }

/** How many books and samples of a market are served. */
async function rowsOf(api: Api, id: string): Promise<readonly [books: number, samples: number]> {
  const path = `/v3/venuea-prediction/${id}`
  const books = await api.all<object>(`${path}/snapshots?include_orderbook=false&limit=1000`)
  const samples = await api.all<SampleRow>(`${path}/timeseries?metric=chance&limit=1000`)
  return [books.length, samples.length]
}

it('venue A is recorded by rules about its categories, each market as deep as they say', async (test) => {
  const home = await createEmulatedHome(test, {
    seed: 'select-a',
    venues: ['venuea'],
    breadth: { venuea: 80 },
    rates: { breadth: 40, turnover: 0 },
    log: { memory: true, books: false },
  })
  const recorder = await home.startRecorder({ PRIORBOOK_VENUEA_SELECT: JSON.stringify(RULES) })
  const questionsIn = (category: string): string[] =>
    home.emulator.world
      .propositions('venuea')
      .filter(isQuestion)
      .flatMap(({ phase, topic, answer }) =>
        phase === 'open' && topic.category === category ? [answer.question] : [],
      )
  await pause(RECORDED_MS)
  // A slow machine may not have listed them all by then.
  const store = openEmbeddedStore({ file: home.data.tape, readOnly: true })
  test.onTestFinished(() => store.close())
  await until('the markets of both categories', 60_000, async () => {
    const { markets } = await store.markets({ venue: 'venuea', limit: 1000 })
    const listed = (name: string): number =>
      markets.filter(({ record }) => record.category === name).length
    const areListed = ['Politics', 'Sports'].every(
      (name) => listed(name) >= questionsIn(name).length,
    )
    return areListed ? true : undefined
  })
  expect(await recorder.end('SIGTERM')).toBe(0)
  const politics = new Set(questionsIn('Politics'))
  expect(politics.size).toBeGreaterThan(5)
  await withApi(home, async (api) => {
    const markets = await api.all<MarketRow>('/v3/venuea-prediction/markets?limit=1000')
    const ofCategory = (name: string): MarketRow[] =>
      markets.filter(({ category }) => category === name)
    expect(new Set(ofCategory('Politics').map(({ condition }) => condition.question))).toEqual(
      politics,
    )
    let books = 0
    for (const market of ofCategory('Politics')) {
      expect(market.capture).toEqual({ tier: 'full', why: 'rule 1 (category Politics)' })
      const [rows, samples] = await rowsOf(api, market.market_id)
      expect(samples).toBeGreaterThan(0)
      if (rows > 0) books++
    }
    expect(books).toBeGreaterThan(0)
    const sports = ofCategory('Sports')
    expect(sports.length).toBe(questionsIn('Sports').length)
    for (const market of sports) {
      expect(market.capture?.tier).toBe('catalogue')
      expect(await rowsOf(api, market.market_id)).toEqual([0, 0])
    }
    const others = markets.filter(({ category }) => !/Politics|Sports/.test(category ?? ''))
    expect(others.length).toBeGreaterThan(0)
    expect(others.every(({ asset }) => asset === 'BTC')).toBe(true)
    expect(others.every(({ category }) => category === 'Crypto')).toBe(true)
  })
  const checked = await startCommand(
    home.env,
    'verify',
    '--journal',
    '--data',
    home.data.path,
    '--json',
  ).ended
  expect(JSON.parse(checked.out)).toMatchObject({ problems: [] })
}, 180_000)
