import { join } from 'node:path'
import { toMicros, type MarketRecord } from '@priorbook/sdk/domain'
import {
  Problem,
  type ConsolidatedJson,
  type ContractBooksJson,
  type ContractWithTermsJson,
} from '@priorbook/sdk/wire'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { createTestCaller, createTestGrant } from '../caller.testing.ts'
import {
  after,
  CLOSES,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../contracts/contract-tape.testing.ts'
import { NO_OPERATOR } from '../contracts/operator-file.ts'
import { createTestServer } from '../server.testing.ts'
import { ROUTES } from './index.ts'

const BASE = `/v3/contracts/${ROUND_ID}`

type Side = readonly (readonly [price: string, size: string])[]
type Step = { readonly at: number; readonly market: MarketRecord } & (
  | { readonly record: MarketRecord }
  | { readonly bids: Side; readonly asks: Side }
  | { readonly gap: { readonly from: number; readonly to?: number; readonly after: number } }
)

const [A, B, C] = [roundOfA(), roundOfB(), roundOfC()]
const book = (at: number, market: MarketRecord, bid: string, ask: string): Step => ({
  at,
  market,
  bids: [[bid, '10']],
  asks: [[ask, '20']],
})

// A learns of its fee at second 150, B of another rule for ties at 100. C is known from second 50 on, and its close
// moves at 300. The book of B has a gap from second 130 to 170.
const SCRIPT: readonly Step[] = [
  { at: -600, market: A, record: A },
  { at: -600, market: B, record: B },
  book(5, A, '0.48', '0.52'),
  book(10, B, '0.40', '0.45'),
  { at: 50, market: C, record: C },
  book(55, C, '0.50', '0.60'),
  book(70, A, '0.49', '0.51'),
  book(90, B, '0.41', '0.44'),
  {
    at: 100,
    market: B,
    record: roundOfB({
      native: {
        ...B.native,
        market: { ...(B.native['market'] as object), strike_type: 'greater' },
      },
    }),
  },
  book(110, C, '0.55', '0.60'),
  { at: 130, market: B, gap: { from: 130, after: 2 } },
  {
    at: 150,
    market: A,
    record: roundOfA({
      native: { ...A.native, topic: { chartType: 'CRYPTO_UP_DOWN', feeRateBps: 0 } },
    }),
  },
  book(160, A, '0.50', '0.53'),
  { at: 170, market: B, gap: { from: 130, to: 170, after: 2 } },
  book(170, B, '0.42', '0.46'),
  book(250, C, '0.56', '0.61'),
  {
    at: 300,
    market: C,
    record: roundOfC({ closeTime: toMicros(CLOSES + 900_000_000) }),
  },
  book(350, A, '0.30', '0.35'),
]

/** A store with what was received up to a second. */
async function record(until: number): Promise<EmbeddedStore> {
  const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
  onTestFinished(() => store.close())
  const writers = new Map([A, B, C].map((market) => [market, new MarketWriter(store, market)]))
  for (const step of SCRIPT) {
    if (step.at > until) continue
    const writer = writers.get(step.market)!
    if ('record' in step) await writer.record(step.record, step.at)
    else if ('gap' in step) {
      await writer.gap('instrument', step.gap.from, step.gap.to, step.gap.after)
    } else await writer.book(step.at, step.bids, step.asks)
  }
  return store
}

type Ask = (path: string) => Promise<{ readonly status: number; readonly body: Body }>
type Body = { readonly data: unknown; readonly meta: Readonly<Record<string, unknown>> }

/** Answers over HTTP, from the whole recording. */
async function serve(): Promise<Ask> {
  const { ask, keyOf } = await createTestServer({
    store: await record(1000),
    now: () => after(1000),
  })
  const key = keyOf('unlimited')
  return async (path) => {
    const answer = await ask(path, { key })
    return { status: answer.status, body: answer.json() as Body }
  }
}

const ROUTES_OF_ONE = ROUTES.filter(({ address }) => address.startsWith('/v3/contracts'))

const UNKNOWN = { status: 404, body: { data: null, meta: {} } }

/** Answers from what was recorded up to a second, at that second. */
async function answersOf(until: number): Promise<Ask> {
  const now = () => toMicros(after(until) + 1)
  const call = createTestCaller(ROUTES_OF_ONE, { store: await record(until), now })
  return async (path) => {
    try {
      return { status: 200, body: (await call.get(path)).body }
    } catch (error) {
      if (error instanceof Problem && error.code === 'unknown_contract') return UNKNOWN
      throw error
    }
  }
}

const isoOf = (seconds: number): string => new Date(after(seconds) / 1000).toISOString()

const PATHS = (at: number): readonly string[] => [
  '?',
  `/books?at=${isoOf(at)}`,
  `/books?at=${isoOf(at - 7)}`,
  '/snapshots?interval=10s',
  `/consolidated?at=${isoOf(at)}&side=buy&size=25`,
  '/spreads?',
  '/leadlag?include_curve=true&max_lag_ms=1000&step_ms=100',
]

/** What an answer says; requests have ids and times of their own, and a problem names its cause. */
function saidBy({ status, body }: Awaited<ReturnType<Ask>>): unknown {
  if (status !== 200) return status
  const { range, notice, member_gaps: gaps } = body.meta
  return { data: body.data, range: range ?? null, notice: notice ?? null, gaps: gaps ?? null }
}

describe('a contract as it was known', () => {
  it('is what a server answered whose recording ended then', async () => {
    const whole = await serve()
    let [found, compared] = [0, 0]
    for (const at of [-601, 20, 140, 175, 299, 300]) {
      const then = await answersOf(at)
      for (const path of PATHS(at)) {
        const expected = await then(BASE + path)
        const answer = await whole(`${BASE}${path}&known_at=${isoOf(at)}`)
        expect(saidBy(answer), `${path} at ${at}`).toEqual(saidBy(expected))
        compared++
        if (expected.status === 200) found++
      }
    }
    expect([found, compared]).toEqual([35, 42])
  }, 240_000)

  it('has the records, books and fees of then, whatever came later', async () => {
    const ask = await serve()
    const contractAt = async (at: number): Promise<ContractWithTermsJson> =>
      (await ask(`${BASE}?known_at=${isoOf(at)}`)).body.data as ContractWithTermsJson
    const venues = ({ members }: ContractWithTermsJson) => members.map(({ venue }) => venue)
    expect(venues(await contractAt(20))).toEqual(['venuea', 'venueb'])
    expect(venues(await contractAt(60))).toEqual(['venuea', 'venueb', 'venuec'])
    expect(venues(await contractAt(299))).toEqual(['venuea', 'venueb', 'venuec'])
    expect(venues(await contractAt(300))).toEqual(['venuea', 'venueb'])
    const tieOfB = ({ members }: ContractWithTermsJson) =>
      members[1]!.terms.find(({ term }) => term === 'tie')!.value
    expect(tieOfB(await contractAt(60))).toBe('yes')
    expect(tieOfB(await contractAt(105))).toBe('no')
    expect((await contractAt(-300)).status).toBe('scheduled')
    expect((await contractAt(20)).status).toBe('open')
    // An instant after the time has the book that was the last one then.
    const late = await ask(`${BASE}/books?at=${isoOf(200)}&known_at=${isoOf(60)}`)
    const [a, b, c] = (late.body.data as ContractBooksJson).members
    expect([a!.bids, b!.bids, c!.bids]).toEqual(
      ['0.48', '0.40', '0.50'].map((price) => ({ price: [Number(price)], size: [10] })),
    )
    expect(a!.age_ms).toBe(195_000)
    // In the gap of B, which had no end then.
    const dark = await ask(`${BASE}/books?at=${isoOf(140)}&known_at=${isoOf(140)}`)
    const [, inGap] = (dark.body.data as ContractBooksJson).members
    expect(inGap!.reason!.gap).toMatchObject({ start_time: expect.any(String), end_time: null })
    // 2 % of min(p, 1 − p) in shares, until the fee was dropped.
    const netOf = async (known: number): Promise<number> => {
      const query = `at=${isoOf(145)}&known_at=${isoOf(known)}`
      const { body } = await ask(`${BASE}/consolidated?${query}`)
      return (body.data as ConsolidatedJson).members[0]!.net_bid as number
    }
    expect(await netOf(145)).toBe(0.49 - 0.02 * 0.49)
    const unknown = await ask(`${BASE}?known_at=${isoOf(-601)}`)
    expect([unknown.status, unknown.body]).toMatchObject([404, { code: 'unknown_contract' }])
  })

  it('names members whose records of then retention removed, by the rules or by the operator', async () => {
    const store = await record(1000)
    const member = ({ venue, marketId }: MarketRecord) => ({ venue, marketId, yes: 'Up' })
    const named = new Map([['x-own', { members: [member(A), member(C)] }]])
    const call = createTestCaller(ROUTES_OF_ONE, {
      store,
      now: () => after(1000),
      contracts: () => ({ ...NO_OPERATOR, named }),
    })
    const tellsOf = async (id: string, known: number) => {
      const { body } = await call.get(`/v3/contracts/${id}?known_at=${isoOf(known)}`)
      const { members } = body.data as ContractWithTermsJson
      return { members: members.map(({ venue }) => venue), notice: body.meta['notice'] }
    }
    expect(await tellsOf('x-own', 60)).toEqual({ members: ['venuea', 'venuec'] })
    // The second versions of A and B hold at that time.
    const removed = await store.removeSome('revisions', { before: after(200), after: 0 })
    expect(removed.rows).toBe(2)
    const gone = (...markets: MarketRecord[]) => ({
      code: 'retention',
      message: expect.any(String) as string,
      markets: markets.map(({ venue, marketId }) => `${venue}:${marketId}`),
    })
    expect(await tellsOf(ROUND_ID, 61)).toEqual({ members: ['venuec'], notice: gone(A, B) })
    expect(await tellsOf('x-own', 61)).toEqual({ members: ['venuec'], notice: gone(A) })
  })

  it('is refused before the window of a plan', async () => {
    const store = await record(1000)
    const call = createTestCaller(ROUTES_OF_ONE, { store, now: () => after(1000) })
    const recent = createTestGrant({ windowStart: () => after(100) })
    const problem = await call.problem(`${BASE}?known_at=${isoOf(99)}`, recent)
    expect(problem.code).toBe('plan_required')
    const { body } = await call.get(`${BASE}?known_at=${isoOf(100)}`, recent)
    expect((body.data as ContractWithTermsJson).members).toHaveLength(3)
  })
})
