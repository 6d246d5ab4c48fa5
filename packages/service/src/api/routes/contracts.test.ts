import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  deriveTerms,
  PriorbookError,
  printContractId,
  toMicros,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import { Problem, type ContractJson, type ContractWithTermsJson } from '@priorbook/sdk/wire'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import { priceOfB, priceOfC } from '../../../../sdk/src/domain/contracts/records.testing.ts'
import {
  after,
  CLOSES,
  createContractStore,
  OPENS,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
  THREE_ROUNDS,
} from '../contracts/contract-tape.testing.ts'
import { openContracts, readOperatorFile } from '../contracts/operator-file.ts'
import { violations } from '../pages/schema.testing.ts'
import type { ApiContext } from '../route.ts'
import { ROUTES } from './index.ts'

const CONTRACT_ROUTES = ROUTES.filter(({ address }) => address.startsWith('/v3/contracts'))
const schemaOf = (id: string) => CONTRACT_ROUTES.find((route) => route.id === id)!.data

async function caller(more: Partial<ApiContext> = {}): Promise<TestCaller> {
  const store = more.store ?? (await createContractStore())
  return createTestCaller(CONTRACT_ROUTES, { store, now: () => after(120), ...more })
}

// Venue A is not in the plan.
const withoutA = createTestGrant({
  allows: (venue) => venue !== 'venuea',
  requireVenue: (venue) => {
    if (venue === 'venuea') throw new Problem('plan_required', 'not in the plan', { plan: 'quant' })
  },
})

function fileOf(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'priorbook-contracts-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'contracts.json')
  writeFileSync(file, text)
  return file
}

describe('the list of contracts', () => {
  it('joins the markets of three venues that are about the same', async () => {
    const call = await caller()
    const { body } = await call.get('/v3/contracts')
    expect(violations(schemaOf('contracts'), body.data)).toEqual([])
    const [contract, ...others] = body.data as ContractJson[]
    expect(others).toEqual([])
    expect(contract).toMatchObject({
      id: ROUND_ID,
      kind: 'up_down',
      asset: 'BTC',
      window: '15m',
      opens: '2026-11-17T17:30:00.000000Z',
      closes: '2026-11-17T17:45:00.000000Z',
      status: 'open',
      rules_version: 1,
      comparison: 'equivalent_except',
      withheld: [],
    })
    expect(
      contract!.members.map(({ venue, yes, no }) => [venue, yes.outcome, no?.outcome]),
    ).toEqual([
      ['venuea', 'Up', 'Down'],
      ['venueb', 'Yes', 'No'],
      ['venuec', 'Up', 'Down'],
    ])
    expect(body.meta['receipt']).toEqual({ rows: 1, gaps: 0 })
  })

  it('filters by status, words, asset, window, kind, members and the time of the close', async () => {
    const call = await caller()
    const idsOf = async (query: string): Promise<readonly string[]> => {
      const { body } = await call.get(`/v3/contracts?${query}`)
      return (body.data as ContractJson[]).map(({ id }) => id)
    }
    for (const query of [
      'status=open',
      'q=KXBTC15M',
      'asset=btc&window=15m',
      'kind=up_down',
      'members=3',
      'start_time=2026-11-17T17:45:00Z&end_time=2026-11-17T17:45:00.000001Z',
    ]) {
      expect(await idsOf(query)).toEqual([ROUND_ID])
    }
    for (const query of [
      'status=scheduled',
      'status=closed',
      'status=resolved',
      'q=nothing',
      'asset=eth',
      'window=5m',
      'kind=above',
      'members=4',
      'start_time=2026-11-17T17:45:00.000001Z',
      'end_time=2026-11-17T17:45:00Z',
    ]) {
      expect(await idsOf(query)).toEqual([])
    }
    // A search finds one member, and the contract still has all of them.
    const { body } = await call.get('/v3/contracts?q=KXBTC15M')
    expect((body.data as ContractJson[])[0]!.members).toHaveLength(3)
  })

  // With one member every record is read; with more, only those of markets that can share a contract.
  it('finds every contract of several members, whatever lists know of their markets', async () => {
    const random = createRandom(5)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const markets = Array.from({ length: 450 }, (_, at) => {
      const closeTime = toMicros(CLOSES + Math.floor(random() * 150) * 60_000_000)
      const openTime = toMicros(closeTime - pick([900, 900, 3600]) * 1_000_000)
      const times = { openTime, closeTime }
      const asset = pick(['BTC', 'ETH'])
      const round = { ...times, asset, window: pick(['15m', '1h']), marketId: `m${at}` }
      const strike = pick([95_000, 96_000])
      const price = { ...times, marketId: `p${at}` }
      const ask = `Will the price of Bitcoin be above $${strike} on November 17?`
      const greater = { strike_type: 'greater_or_equal', floor_strike: strike }
      const record = pick([
        () => roundOfA(round),
        () => roundOfB({ ...round, seriesTicker: `KX${asset}15M` }),
        () => roundOfC(round),
        // Lists by a window have it, although it is not a round.
        () => ({ ...priceOfB(greater), ...price, window: '1h' }),
        () => ({ ...priceOfC(ask), ...price }),
        () => ({ ...priceOfC(ask), ...price, asset: 'BTC' }),
      ])()
      return { record }
    })
    const idOf = (record: MarketRecord) => printContractId(deriveTerms(record)!.subject)
    const ids = markets.map(({ record }) => idOf(record))
    const rounds = markets.map(({ record }) => record).filter(({ venue }) => venue === 'venuea')
    const id = rounds.map(idOf).find((one) => ids.indexOf(one) === ids.lastIndexOf(one))!
    // The operator gives a round that is alone a second member.
    const { marketId } = rounds.find((record) => idOf(record) !== id)!
    const members = [{ venue: 'venuea', market_id: marketId, yes: 'Up' }]
    const operator = readOperatorFile(fileOf(JSON.stringify({ contracts: [{ id, members }] })))
    const call = await caller({
      store: await createContractStore(markets),
      contracts: () => operator,
    })
    const walk = async (query: string): Promise<readonly ContractJson[]> => {
      const found: ContractJson[] = []
      for (let cursor = ''; ;) {
        const { body } = await call.get(`/v3/contracts?limit=100&${query}${cursor}`)
        found.push(...(body.data as ContractJson[]))
        if (!body.pagination.has_more) return found
        cursor = `&cursor=${body.pagination.next_cursor}`
      }
    }
    for (const more of ['', '&window=1h', '&window=15m&asset=eth']) {
      const all = await walk(`members=1${more}`)
      for (const members of [2, 3]) {
        const wanted = all.filter((contract) => contract.members.length >= members)
        expect(await walk(`members=${members}${more}`)).toEqual(wanted)
      }
    }
    const shared = (await walk('members=2')).map((contract) => contract.id)
    expect(shared.length).toBeGreaterThan(50)
    expect(shared).toContain(id)
  })

  it('ends where more markets close at once than one page looks at', async () => {
    const strikes = Array.from({ length: 4300 }, (_, at) => ({
      record: {
        ...priceOfB({ strike_type: 'greater_or_equal', floor_strike: 50_000 + at }),
        marketId: `KXBTCD-${at}`,
      },
    }))
    const named = priceOfC('Will the price of Bitcoin be above $50,001 on November 17?')
    const call = await caller({
      store: await createContractStore([...strikes, { record: named }]),
    })
    const ids = new Set<string>()
    const shared: string[] = []
    let pages = 0
    for (let cursor = ''; pages < 20; pages++) {
      const { body } = await call.get(`/v3/contracts?members=1&limit=1000${cursor}`)
      for (const { id, members } of body.data as ContractJson[]) {
        expect(ids.has(id)).toBe(false)
        ids.add(id)
        if (members.length > 1) shared.push(id)
      }
      if (!body.pagination.has_more) break
      cursor = `&cursor=${body.pagination.next_cursor}`
    }
    expect(ids.size).toBe(4300)
    expect(pages).toBeLessThan(10)
    expect(shared).toEqual(['btc-above-50001-20261117T174500Z'])
  })

  it('walks many rounds by cursor, each once, in the order of their closes', async () => {
    const rounds = Array.from({ length: 40 }, (_, round) => {
      const openTime = toMicros(OPENS + round * 900_000_000)
      const closeTime = toMicros(CLOSES + round * 900_000_000)
      const more = (id: string) => ({ openTime, closeTime, marketId: id })
      return [
        { record: roundOfA(more(String(1000 + round))) },
        { record: roundOfB(more(`KXBTC15M-R${round}-15`)) },
        // Every third round has no market of venue C, and every fifth one has two windows.
        ...(round % 3 === 0 ? [] : [{ record: roundOfC(more(`0x${round}`)) }]),
        ...(round % 5 === 0 ? [{ record: roundOfA({ ...more(`9${round}`), window: '5m' }) }] : []),
      ]
    }).flat()
    const now = after(900 * 20 + 1)
    const call = await caller({ store: await createContractStore(rounds), now: () => now })
    const walk = async (query: string, limit: number): Promise<readonly string[]> => {
      const ids: string[] = []
      for (let cursor = ''; ;) {
        const { body } = await call.get(`/v3/contracts?limit=${limit}${query}${cursor}`)
        ids.push(...(body.data as ContractJson[]).map(({ id }) => id))
        if (!body.pagination.has_more) return ids
        cursor = `&cursor=${body.pagination.next_cursor}`
      }
    }
    const named = Array.from({ length: 40 }, (_, round) => {
      const text = new Date(Number(CLOSES) / 1000 + round * 900_000).toISOString()
      return `btc-15m-up-down-${text.replaceAll(/[-:]|\.000/g, '')}`
    })
    for (const limit of [1, 7, 100]) {
      expect(await walk('', limit)).toEqual(named.toReversed())
      expect(await walk('&status=open', limit)).toEqual(named.slice(20, 21))
      expect(await walk('&status=scheduled', limit)).toEqual(named.slice(21))
      expect(await walk('&status=closed', limit)).toEqual(named.slice(0, 20).toReversed())
      const all = await walk('&members=1', limit)
      expect(all).toHaveLength(48)
      expect(new Set(all).size).toBe(48)
      expect((await walk('&members=3', limit)).length).toBe(26)
    }
  })
})

describe('a contract', () => {
  it('has terms with evidence and differences with their meaning', async () => {
    const call = await caller()
    const { body } = await call.get(`/v3/contracts/${ROUND_ID}`)
    expect(violations(schemaOf('contract'), body.data)).toEqual([])
    const { members, differences } = body.data as ContractWithTermsJson
    const tie = differences.find(({ term }) => term === 'tie')!
    expect(tie.values.map(({ venue, value }) => [venue, value])).toEqual([
      ['venuea', 'half'],
      ['venueb', 'yes'],
      ['venuec', 'yes'],
    ])
    expect(tie.meaning).toContain('Venue A pays half to each')
    expect(members[1]!.terms.find(({ term }) => term === 'tie')).toEqual({
      term: 'tie',
      value: 'yes',
      evidence: {
        kind: 'record',
        source: 'native.market.strike_type',
        said: 'greater_or_equal',
        since: null,
      },
    })
    expect(members[2]!.terms.find(({ term }) => term === 'rounding')).toEqual({
      term: 'rounding',
      value: null,
      evidence: null,
    })
  })

  it('is not there where no market is about it', async () => {
    const call = await caller()
    for (const id of [
      'btc-15m-up-down-20261117T180000Z',
      'btc',
      'x-none',
      'eth-above-1-20261117T174500Z',
    ]) {
      const problem = await call.problem(`/v3/contracts/${id}`)
      expect(problem.code).toBe('unknown_contract')
      expect(problem.fields.hint).toContain('/v3/contracts lists')
    }
  })

  it('shows what a plan includes, and names the venues that it withholds', async () => {
    const call = await caller()
    const { body } = await call.get(`/v3/contracts/${ROUND_ID}`, withoutA)
    const { members, withheld } = body.data as ContractWithTermsJson
    expect(members.map(({ venue }) => venue)).toEqual(['venueb', 'venuec'])
    expect(withheld).toEqual(['venuea'])
    expect(body.meta['notice']).toMatchObject({ code: 'members_withheld', withheld: ['venuea'] })
    expect(JSON.stringify(body)).not.toContain(roundOfA().marketId)
    const list = await call.get('/v3/contracts', withoutA)
    expect((list.body.data as ContractJson[])[0]).toMatchObject({ withheld: ['venuea'] })
    const alone = await caller({ store: await createContractStore(THREE_ROUNDS.slice(0, 1)) })
    expect((await alone.problem(`/v3/contracts/${ROUND_ID}`, withoutA)).code).toBe('plan_required')
  })
})

describe('the operator’s file', () => {
  const elected = {
    contracts: [
      {
        id: 'x-same-again',
        title: 'The same again',
        members: [
          { venue: 'venueb', market_id: roundOfB().marketId, yes: 'No' },
          { venue: 'venuec', market_id: roundOfC().marketId, yes: 'down' },
        ],
      },
    ],
    refuse: [{ venue: 'venuea', asset: 'btc', window: '15m', why: 'settles on another price' }],
  }

  it('adds a contract, with the outcome that is Yes of it, and refuses markets', async () => {
    const file = fileOf(JSON.stringify(elected))
    const { current } = openContracts(file, () => undefined)
    const call = await caller({ contracts: current })
    const { body } = await call.get('/v3/contracts/x-same-again')
    expect(violations(schemaOf('contract'), body.data)).toEqual([])
    expect(body.data).toMatchObject({ kind: 'event', title: 'The same again' })
    const { members } = body.data as ContractWithTermsJson
    expect(members.map(({ yes, matched_by: by }) => [yes.outcome, by])).toEqual([
      ['No', 'operator'],
      ['Down', 'operator'],
    ])
    // A tie pays Yes of the round at both, so it does not pay No.
    expect(members.map(({ terms }) => terms.find(({ term }) => term === 'tie')?.value)).toEqual([
      'no',
      'no',
    ])
    const list = await call.get('/v3/contracts')
    expect((list.body.data as ContractJson[]).map(({ id }) => id)).toEqual([
      'x-same-again',
      ROUND_ID,
    ])
    const round = await call.get(`/v3/contracts/${ROUND_ID}`)
    expect(round.body.data).toMatchObject({
      members: [{ venue: 'venueb' }, { venue: 'venuec' }],
      refused: [{ venue: 'venuea', why: 'settles on another price' }],
    })
    // The book of No of venue B is that of Yes seen from the other side.
    const books = await call.get('/v3/contracts/x-same-again/books?at=2026-11-17T17:30:20Z')
    expect(books.body.data).toMatchObject({
      members: [
        {
          outcome: 'No',
          is_complement: true,
          bids: { price: [0.55], size: [20] },
          asks: { price: [0.6], size: [10] },
        },
        { outcome: 'Down', reason: { code: 'before_capture' } },
      ],
    })
  })

  it('does not make rounds identical that close at other times, whatever their terms', async () => {
    const hour = 3_600_000_000
    const late = { openTime: toMicros(OPENS + hour), closeTime: toMicros(CLOSES + hour) }
    const other = roundOfB({ marketId: 'KXBTC15M-26NOV171345-45', ...late })
    const members = [roundOfB(), other].map(({ marketId }) => {
      return { venue: 'venueb', market_id: marketId, yes: 'Yes' }
    })
    const named = { contracts: [{ id: 'x-hours', members }] }
    const { current } = openContracts(fileOf(JSON.stringify(named)), () => undefined)
    const store = await createContractStore([{ record: roundOfB() }, { record: other }])
    const call = await caller({ store, contracts: current })
    const { body } = await call.get('/v3/contracts/x-hours')
    expect(violations(schemaOf('contract'), body.data)).toEqual([])
    expect(body.data).toMatchObject({
      comparison: 'equivalent_except',
      differs_in: ['subject'],
      differences: [
        {
          term: 'subject',
          values: [{ value: ROUND_ID }, { value: expect.stringContaining('T18') }],
        },
      ],
    })
  })

  it('is walked by the close of all members, also of those that a plan withholds', async () => {
    const hour = 3_600_000_000
    const late = { openTime: toMicros(OPENS + hour), closeTime: toMicros(CLOSES + hour) }
    const between = toMicros(CLOSES + hour / 2)
    const markets = [
      { record: roundOfA(late) },
      { record: roundOfB() },
      { record: roundOfC({ openTime: toMicros(OPENS + hour / 2), closeTime: between }) },
    ]
    const named = {
      contracts: [
        {
          id: 'x-both',
          members: [
            { venue: 'venuea', market_id: roundOfA().marketId, yes: 'Up' },
            { venue: 'venueb', market_id: roundOfB().marketId, yes: 'Yes' },
          ],
        },
      ],
    }
    const { current } = openContracts(fileOf(JSON.stringify(named)), () => undefined)
    const store = await createContractStore(markets)
    const call = await caller({ store, contracts: current })
    for (const filter of ['', 'status=open&', 'status=scheduled&']) {
      const whole = await call.get(`/v3/contracts?${filter}limit=100`, withoutA)
      const ids: string[] = []
      for (let cursor = ''; ids.length < 20;) {
        const page = await call.get(`/v3/contracts?${filter}limit=1${cursor}`, withoutA)
        ids.push(...(page.body.data as ContractJson[]).map(({ id }) => id))
        if (!page.body.pagination.has_more) break
        cursor = `&cursor=${page.body.pagination.next_cursor}`
      }
      expect(ids).toEqual((whole.body.data as ContractJson[]).map(({ id }) => id))
    }
  })

  it('is read again on request, and a wrong one changes nothing', () => {
    const file = fileOf('{}')
    const troubles: string[] = []
    const opened = openContracts(file, (why) => troubles.push(why))
    expect(opened.current().named.size).toBe(0)
    writeFileSync(file, JSON.stringify(elected))
    opened.reload()
    expect(opened.current().named.size).toBe(1)
    writeFileSync(file, '{"contracts": 5}')
    opened.reload()
    expect(opened.current().named.size).toBe(1)
    expect(troubles).toEqual([expect.stringContaining('contracts must be a list of contracts')])
  })

  it('names the wrong value and its place', () => {
    const refusal = (text: string): string => {
      try {
        readOperatorFile(fileOf(text))
      } catch (error) {
        if (error instanceof PriorbookError && error.code === 'invalid_config') return error.message
        throw error
      }
      return 'taken'
    }
    const member = { venue: 'venueb', market_id: 'M', yes: 'Yes' }
    const one = (more: object) =>
      JSON.stringify({ contracts: [{ id: 'x-a', members: [member], ...more }] })
    expect(refusal(one({}))).toBe('taken')
    expect(refusal('{')).toContain('is not JSON')
    expect(refusal(one({ id: 'my contract' }))).toContain('contracts.0.id must be x- and a name')
    expect(refusal(one({ members: [] }))).toContain('contracts.0.members must not be empty')
    expect(refusal(one({ members: [{ ...member, venue: 'venuex' }] }))).toContain(
      'contracts.0.members.0.venue must be one of venuea, venueb, venuec',
    )
    expect(refusal(one({ member: 1 }))).toContain('contracts.0.member')
    expect(refusal('{"refuse": [{"venue": "venuea", "why": "no"}]}')).toContain(
      'must have a market_id, an asset or a window',
    )
    const both = JSON.parse(one({})) as { contracts: object[] }
    const twice = { contracts: [...both.contracts, ...both.contracts] }
    expect(refusal(JSON.stringify(twice))).toContain('x-a is there twice')
    expect(() => readOperatorFile('/nowhere/contracts.json')).toThrow('cannot be read')
  })
})
