import type { LeadLagJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import {
  after,
  createContractStore,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
  type ScriptedBook,
  type ScriptedMarket,
} from '../contracts/contract-tape.testing.ts'
import { violations } from '../pages/schema.testing.ts'
import { ROUTES } from './index.ts'

const CONTRACT_ROUTES = ROUTES.filter(({ address }) => address.startsWith('/v3/contracts'))
const { data: SCHEMA } = CONTRACT_ROUTES.find(({ id }) => id === 'contract_leadlag')!
const ADDRESS = `/v3/contracts/${ROUND_ID}/leadlag`

async function caller(markets: readonly ScriptedMarket[]): Promise<TestCaller> {
  const store = await createContractStore(markets)
  return createTestCaller(CONTRACT_ROUTES, { store, now: () => after(1200) })
}

async function read(call: TestCaller, query = ''): Promise<LeadLagJson> {
  const { body } = await call.get(`${ADDRESS}?${query}`)
  expect(violations(SCHEMA, body.data)).toEqual([])
  return body.data as LeadLagJson
}

type Step = { readonly at: number; readonly cents: number }

/** A price that changes at random times by one to three cents. */
function walk(seed: number, seconds: number, gapSeconds: number): Step[] {
  const random = createRandom(seed)
  const steps: Step[] = []
  let cents = 50
  for (let at = 1; at < seconds; at += -Math.log(1 - random()) * gapSeconds + 0.001) {
    const change = Math.ceil(random() * 3) * (random() < 0.5 ? -1 : 1)
    cents = cents + change < 10 || cents + change > 90 ? cents - change : cents + change
    steps.push({ at: Math.round(at * 1e6) / 1e6, cents })
  }
  return steps
}

/** Books around the prices of a walk, later by a delay that is not always the same. */
function booksOf(
  steps: readonly Step[],
  {
    delay = 0,
    jitter = 0,
    sourceDelay = delay,
    seed = 1,
  }: { delay?: number; jitter?: number; sourceDelay?: number; seed?: number } = {},
): ScriptedBook[] {
  const random = createRandom(seed)
  let last = 0
  let source = 0
  return steps.map(({ at, cents }) => {
    const more = jitter * (random() * 2 - 1)
    last = Math.max(last + 0.001, Math.round((at + delay + more) * 1e6) / 1e6)
    source = Math.max(source, Math.round((at + sourceDelay + more) * 1e3) / 1e3)
    const side = (price: number) => [[(price / 100).toFixed(2), '5']] as const
    return { seconds: last, bids: side(cents - 1), asks: side(cents + 1), source }
  })
}

/** B leads, C follows 700 ms later (by the clocks of the venues 300 ms), A goes its own way. */
function world(): ScriptedMarket[] {
  const leader = walk(7, 890, 0.6)
  const follower = booksOf(leader, { delay: 0.7, jitter: 0.05, sourceDelay: 0.3 })
  return [
    { record: roundOfA(), books: booksOf(walk(8, 890, 0.6)) },
    { record: roundOfB(), books: booksOf(leader) },
    { record: roundOfC(), books: follower },
  ]
}

describe('lead and lag', () => {
  it('finds a delay within its uncertainty, by both clocks, and decides nothing for others', async () => {
    const call = await caller(world())
    const { members, pairs } = await read(call)
    expect(members.map(({ venue }) => venue)).toEqual(['venuea', 'venueb', 'venuec'])
    for (const { moves } of members) expect(moves).toBeGreaterThan(1000)
    const shown = pairs.map(({ first, second, clock, verdict }) => [first, second, clock, verdict])
    expect(shown).toEqual([
      [0, 1, 'received', 'not_decided'],
      [0, 1, 'source', 'not_decided'],
      [0, 2, 'received', 'not_decided'],
      [0, 2, 'source', 'not_decided'],
      [1, 2, 'received', 'first'],
      [1, 2, 'source', 'first'],
    ])
    for (const { reason, first } of pairs) expect(reason).toBe(first === 0 ? 'no_peak' : null)
    const truths = [
      { pair: pairs[4]!, delay: 700 },
      { pair: pairs[5]!, delay: 300 },
    ]
    for (const { pair, delay } of truths) {
      expect(Math.abs(Number(pair.delay_ms) - delay)).toBeLessThanOrEqual(
        Number(pair.uncertainty_ms),
      )
      expect(pair.uncertainty_ms).toBeLessThan(150)
      expect(pair.low_ms).toBeGreaterThan(0)
      expect(pair.correlation).toBeGreaterThan(0.5)
      expect(pair.evidence).toHaveLength(10)
      expect(pair.curve).toBeNull()
    }
    // Nothing is random: the same question has the same answer.
    expect(await read(call)).toEqual(await read(call))
  })

  it('names the later member where it is the first of the pair', async () => {
    const leader = walk(7, 600, 0.6)
    const call = await caller([
      { record: roundOfA(), books: booksOf(leader, { delay: 1.2, jitter: 0.02 }) },
      { record: roundOfB(), books: booksOf(leader) },
    ])
    const { pairs } = await read(call)
    expect(pairs[0]).toMatchObject({ verdict: 'second', reason: null })
    expect(Math.abs(Number(pairs[0]!.delay_ms) + 1200)).toBeLessThanOrEqual(
      Number(pairs[0]!.uncertainty_ms),
    )
  })

  it('does not decide between members that move together, or later than it looks', async () => {
    const leader = walk(9, 600, 0.6)
    const call = await caller([
      { record: roundOfA(), books: booksOf(leader, { jitter: 0.02, seed: 3 }) },
      { record: roundOfB(), books: booksOf(leader) },
      { record: roundOfC(), books: booksOf(leader, { delay: 3 }) },
    ])
    const { pairs } = await read(call, 'max_lag_ms=2990&step_ms=10')
    expect(pairs[0]).toMatchObject({ verdict: 'not_decided', reason: 'within_uncertainty' })
    expect(pairs[4]).toMatchObject({ first: 1, second: 2, verdict: 'not_decided' })
    expect(['edge_of_grid', 'no_peak']).toContain(pairs[4]!.reason)
    const few = await caller([
      { record: roundOfB(), books: booksOf(leader.slice(0, 20)) },
      { record: roundOfC(), books: booksOf(leader.slice(0, 20), { delay: 0.5 }) },
    ])
    expect((await read(few)).pairs[0]).toMatchObject({
      verdict: 'not_decided',
      reason: 'too_few_moves',
      first_moves: 19,
      delay_ms: null,
    })
  })

  it('has at every lag what a naive sum over all pairs has, exactly, and bridges no gap', async () => {
    const leader = walk(11, 120, 0.7)
    const gaps = [gapAfter(booksOf(leader), 40), gapAfter(booksOf(leader), 90)]
    const markets: ScriptedMarket[] = [
      { record: roundOfB(), books: booksOf(leader), gaps },
      { record: roundOfC(), books: withHoles(booksOf(leader, { delay: 0.4, jitter: 0.3 })) },
    ]
    const call = await caller(markets)
    const { members, pairs } = await read(call, 'include_curve=true&max_lag_ms=1000&step_ms=50')
    for (const [place, clock] of (['received', 'source'] as const).entries()) {
      const [one, two] = [naiveMoves(markets[0]!, clock), naiveMoves(markets[1]!, clock)]
      const pair = pairs[place]!
      expect([pair.clock, pair.first_moves, pair.second_moves]).toEqual([
        clock,
        one.length,
        two.length,
      ])
      expect(pair.curve!.correlation).toEqual(naiveCurve(one, two))
      expect(pair.curve!.correlation.length).toBe(41)
    }
    const all = markets[0]!.books!.length - 1
    expect(members[0]!.moves).toBe(all - gaps.length)
    for (const { from, to } of gaps) {
      for (const { evidence } of pairs) {
        for (const { first } of evidence) {
          const at = Date.parse(String(first.time)) * 1000
          expect(at > after(from) && at <= after(to)).toBe(false)
        }
      }
    }
  })

  it('shows rows that moved as it says', async () => {
    const markets = world()
    const { pairs } = await read(await caller(markets))
    for (const { first, second } of pairs[4]!.evidence) {
      for (const [side, books] of [
        [first, markets[1]!.books!],
        [second, markets[2]!.books!],
      ] as const) {
        const index = Number(side.row_id.split(':').at(-1)) - 1
        const middle = ({ bids, asks }: ScriptedBook) =>
          Math.round((Number(bids[0]![0]) + Number(asks[0]![0])) * 50)
        const change = middle(books[index]!) - middle(books[index - 1]!)
        expect(Math.round(Number(side.change) * 100)).toBe(change)
        expect(Date.parse(String(side.time))).toBe(Math.floor(after(books[index]!.seconds) / 1000))
      }
      expect(Number(first.change) * Number(second.change)).toBeGreaterThan(0)
    }
  })

  it('has bounds, and says what is wrong', async () => {
    const call = await caller(world())
    const problem = (query: string) => call.problem(`${ADDRESS}?${query}`)
    expect(await problem('max_lag_ms=100&step_ms=60')).toMatchObject({
      code: 'invalid_parameter',
      fields: { param: 'step_ms' },
    })
    expect((await problem('max_lag_ms=60000&step_ms=10')).code).toBe('invalid_parameter')
    expect((await problem('start_time=2026-11-15T00:00:00Z')).code).toBe('invalid_range')
    const none = await call.problem('/v3/contracts/btc-15m-up-down-20261117T180000Z/leadlag')
    expect(none.code).toBe('unknown_contract')
    const withoutA = createTestGrant({ allows: (venue) => venue !== 'venuea' })
    const { body } = await call.get(ADDRESS, withoutA)
    expect((body.data as LeadLagJson).pairs).toHaveLength(2)
    expect(body.meta['notice']).toMatchObject({ code: 'members_withheld' })
  })
})

function gapAfter(books: readonly ScriptedBook[], index: number) {
  return { from: books[index]!.seconds, to: books[index + 1]!.seconds }
}

// A side is empty now and then, and some rows have no time of the venue.
function withHoles(books: readonly ScriptedBook[]): ScriptedBook[] {
  return books.map((book, index) => {
    if (index % 29 === 3) return { ...book, asks: [] }
    return index % 31 === 5 ? { ...book, source: null } : book
  })
}

type NaiveMove = { readonly from: bigint; readonly at: bigint; readonly size: bigint }

// Shares no code with the service: from the script alone, in bigints.
function naiveMoves(
  { books = [], gaps = [] }: ScriptedMarket,
  clock: 'received' | 'source',
): NaiveMove[] {
  const micros = (seconds: number): bigint => BigInt(Math.round(seconds * 1e6))
  const moves: NaiveMove[] = []
  for (const [index, book] of books.entries()) {
    const before = books[index - 1]
    if (before === undefined || book.asks.length * before.asks.length === 0) continue
    if (gaps.some(({ from, to }) => from < book.seconds && to! > before.seconds)) continue
    const units = ({ bids, asks }: ScriptedBook): bigint =>
      BigInt(Math.round((Number(bids[0]![0]) + Number(asks[0]![0])) * 1e6))
    const size = units(book) - units(before)
    if (size === 0n) continue
    if (clock === 'received') {
      moves.push({ from: micros(before.seconds), at: micros(book.seconds), size })
      continue
    }
    if (book.source === null || before.source === null) continue
    const [from, at] = [micros(before.source!), micros(book.source!)]
    moves.push({ from: from < at - 1000n ? from : at - 1000n, at, size })
  }
  return moves
}

function naiveCurve(one: readonly NaiveMove[], two: readonly NaiveMove[]): number[] {
  const squares = (moves: readonly NaiveMove[]) =>
    moves.reduce((sum, { size }) => sum + size * size, 0n)
  const scale = squares(one) * squares(two)
  const curve: number[] = []
  for (let lag = -1_000_000n; lag <= 1_000_000n; lag += 50_000n) {
    let sum = 0n
    for (const x of one) {
      for (const y of two) if (x.from + lag < y.at && y.from < x.at + lag) sum += x.size * y.size
    }
    // The greatest whole number of millionths whose square is not above the square of the correlation.
    let root = 0n
    for (let bit = 1n << 22n; bit > 0n; bit >>= 1n) {
      if ((root + bit) ** 2n * scale <= sum * sum * 10n ** 12n) root += bit
    }
    curve.push((Number(root) / 1e6) * (sum < 0n ? -1 : 1))
  }
  return curve
}
