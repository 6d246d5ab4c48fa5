import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import {
  after,
  createContractStore,
  ROUND_ID,
  roundOfB,
  roundOfC,
  THREE_ROUNDS,
  type ScriptedMarket,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { createRandom } from '../../packages/service/src/lib/random.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { runCommand } from './run-command.ts'

async function serve(plan = 'unlimited', markets: readonly ScriptedMarket[] = THREE_ROUNDS) {
  const store = await createContractStore(markets)
  // Limits of plans need a clock that runs.
  const begun = performance.now()
  const now = () => after(120 + (performance.now() - begun) / 1000)
  const test = await createTestServer({ store, now })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const key = test.keyOf(plan)
  const env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
  const run = (...args: string[]) => runCommand(args, env)
  return { client: createClient({ url, key }), run }
}

/** Venue C moves as venue B does, 400 ms later. */
function leadingRounds(): ScriptedMarket[] {
  const random = createRandom(5)
  const steps = Array.from({ length: 200 }, (_, index) => ({
    at: 1 + index * 0.55 + random() * 0.5,
    cents: 20 + Math.floor(random() * 60),
  }))
  const booksAfter = (delay: number) =>
    steps.map(({ at, cents }) => ({
      seconds: at + delay,
      bids: [[`0.${cents - 1}`, '5']] as const,
      asks: [[`0.${cents + 1}`, '5']] as const,
    }))
  return [
    { record: roundOfB(), books: booksAfter(0) },
    { record: roundOfC(), books: booksAfter(0.4) },
  ]
}

const AT = '2026-11-17T17:30:20Z'

describe('the client', () => {
  it('reads contracts, their books, aligned rows, the consolidated book and spreads', async () => {
    const { client } = await serve()
    const ids: string[] = []
    for await (const { id } of client.contracts({ asset: 'btc', limit: 1 })) ids.push(id)
    expect(ids).toEqual([ROUND_ID])
    expect((await client.contract(ROUND_ID)).data.members).toHaveLength(3)
    const { data: books } = await client.contractBooks(ROUND_ID, { at: AT, depth: 1 })
    expect(books.members.map(({ bids }) => bids?.price)).toEqual([[0.48], [0.4], [0.5]])
    const range = { interval: '10s', end_time: after(120), limit: 5 } as const
    const rows = await client.contractSnapshots(ROUND_ID, range).toArray()
    expect(rows).toHaveLength(12)
    const order = { at: AT, side: 'sell', size: '101' } as const
    const { data } = await client.contractConsolidated(ROUND_ID, order)
    expect(data.order?.net_amount).toBe(48.7204)
    const spreads = await client.contractSpreads(ROUND_ID, { limit: 1 }).toArray()
    expect(spreads.map(({ best_edge: edge }) => edge)).toHaveLength(4)
  })
})

describe('priorbook compare', () => {
  it('shows the members with prices after fees, the edge and the differences', async () => {
    const { run } = await serve()
    const { status, out } = await run('compare', 'BTC-15m', '--at', AT, '--size', '22')
    expect(status).toBe(0)
    const lines = out.split('\n')
    expect(lines[0]).toContain(ROUND_ID)
    expect(lines[1]).toBe('open, closes 2026-11-17 17:45:00, books at 2026-11-17 17:30:20 UTC')
    expect(lines[2]).toMatch(/^VENUE +YES IS +BID +ASK +NET BID +NET ASK +AGE +MISSING +MARKET/)
    expect(lines[4]).toMatch(/^venueb +Yes +0\.4 +0\.45 +0\.3832 +0\.467325 +10000 ms +– +KXBTC15M/)
    expect(out).toContain(
      'edge: Yes at venueb 0.467325 and No at venuec 0.5175 leave 0.015175 per share',
    )
    expect(out).toContain('buy 22: 22 for 10.40956114 with fees of')
    expect(out).toContain('  venueb: 20 up to 0.45, 9.35')
    expect(out).toContain('  tie: venuea half; venueb yes; venuec yes')
    expect(out).toContain('Venue A pays half to each')
    expect(out).toContain('  rounding: venuea not known; venueb 2 decimals; venuec not known')
  })

  it('says why a member has no book, and takes ids and every form of a time', async () => {
    const { run } = await serve()
    const inGap = await run('compare', ROUND_ID, '--at', '2026-11-17T17:30:35Z')
    expect(inGap.out).toMatch(/^venueb +Yes +– +– +– +– +– +disconnected/m)
    const micros = String(after(20))
    const [one, two] = [
      await run('compare', 'btc-15m', '--at', micros),
      await run('compare', 'btc-15m', '--at', AT),
    ]
    expect(one).toEqual(two)
    const json = await run('compare', 'BTC-15m', '--at', AT, '--json')
    expect(JSON.parse(json.out)).toMatchObject({
      id: ROUND_ID,
      pair: { yes: 1, no: 2, edge: '0.015175' },
      differs_in: expect.arrayContaining(['tie']) as unknown,
    })
  })

  it('says who moved first, or that it is not decided', async () => {
    const { run, client } = await serve()
    const at = String(after(100))
    const { out } = await run('compare', 'BTC-15m', '--at', at, '--lead')
    expect(out).toContain(
      'lead: venueb or venuec is not decided (too_few_moves) by the received clock, 0 and 1 moves',
    )
    expect(out.match(/^lead: /gm)).toHaveLength(6)
    const { data } = await client.contractLeadLag(ROUND_ID, { end_time: after(100) })
    const json = await run('compare', ROUND_ID, '--at', at, '--lead', '--json')
    const { lead } = JSON.parse(json.out) as { lead: { pairs: { verdict: string }[] } }
    expect(lead.pairs.map(({ verdict }) => verdict)).toEqual(
      data.pairs.map(({ verdict }) => verdict),
    )
  })

  it('names the venue that moved first, with the delay and its uncertainty', async () => {
    const { run } = await serve('unlimited', leadingRounds())
    const { out } = await run('compare', ROUND_ID, '--at', String(after(119)), '--lead')
    const [, delay, uncertainty] =
      /^lead: venueb moves ([\d.]+) ± ([\d.]+) ms before venuec by the received clock, \d+ and \d+ moves$/m.exec(
        out,
      )!
    expect(Math.abs(Number(delay) - 400)).toBeLessThanOrEqual(Number(uncertainty))
    expect(Number(uncertainty)).toBeLessThan(200)
  })

  it('ends with a status that says what is wrong', async () => {
    const { run } = await serve()
    expect((await run('compare')).status).toBe(2)
    const none = await run('compare', 'ETH-15m', '--at', AT)
    expect(none.status).toBe(7)
    expect(none.err).toContain('no contract ETH-15m is open at 2026-11-17 17:30:20')
    expect((await run('compare', 'btc-15m-up-down-20261117T180000Z')).status).toBe(4)
    const early = await run('compare', 'BTC-15m', '--at', '2026-11-17T17:29:59Z')
    expect(early.status).toBe(7)
  })

  it('shows what the plan includes and names the rest', async () => {
    const { run } = await serve('explorer')
    const { out, err } = await run('compare', ROUND_ID, '--at', AT)
    expect(out).toContain('not in the plan: venuea')
    expect(out).not.toContain('8691520')
    expect(err).toContain('members_withheld')
  })
})
