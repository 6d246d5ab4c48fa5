import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, type LiveMessage } from '../../packages/sdk/src/client/index.ts'
import { WatchBoard } from '../../packages/sdk/src/cli/watch-board.ts'
import {
  after,
  createContractStore,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { runCommand } from './run-command.ts'

async function serve(plan = 'unlimited') {
  const store = await createContractStore()
  const begun = performance.now()
  const now = () => after(120 + (performance.now() - begun) / 1000)
  const test = await createTestServer({ store, now })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const key = test.keyOf(plan)
  const env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
  const run = (...args: string[]) => runCommand(args, env)
  return { ...test, store, run, client: createClient({ url, key }) }
}

const B = `venueb:${roundOfB().marketId}`
const C = `venuec:${roundOfC().marketId}`

describe('priorbook watch of several markets', () => {
  it('prints a line per row of each market, until all are resolved', async () => {
    const { run, store, server } = await serve()
    const watching = run('watch', B, C)
    await expect.poll(() => server.stream.pulse().subscriptions).toBe(2)
    const [b, c] = [new MarketWriter(store, roundOfB()), new MarketWriter(store, roundOfC())]
    await b.book(121, [['0.42', '1300']], [['0.46', '1']])
    await b.record({ ...roundOfB(), status: 'resolved' }, 122)
    await c.book(123, [['0.43', '10']], [])
    await c.record({ ...roundOfC(), status: 'resolved' }, 124)
    const { status, out, err } = await watching
    expect(status).toBe(0)
    expect(err).toContain('2 markets is resolved: no more rows will come')
    expect(out).toContain(
      `2026-11-17T17:32:01.000000Z ${B} Yes  seq 4  bid 0.42 × 1,300  ask 0.46 × 1\n`,
    )
    expect(out).toContain(`2026-11-17T17:32:03.000000Z ${C} Up  seq 3  bid 0.43 × 10  ask none\n`)
  })

  it('follows the contract of a family that is open, in prices of Yes', async () => {
    const { run } = await serve()
    const { status, out } = await run('watch', '--contract', 'BTC-15m', '--count', '3')
    expect(status).toBe(0)
    const lines = out.trim().split('\n').toSorted()
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual(
      [
        'venuea:8691520 Up  seq 1  bid 0.48 × 10.5  ask 0.52 × 5',
        `${C} Up  seq 2  bid 0.4 × 100  ask 0.6 × 50.123456`,
        `${B} Yes  seq 3  bid 0.41 × 10  ask 0.44 × 1`,
      ].toSorted((one, two) => (one.includes('venuec') ? 1 : two.includes('venuec') ? -1 : 0)),
    )
    const json = await run('watch', '--contract', ROUND_ID, '--count', '3', '--json')
    const types = json.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as LiveMessage).type)
    expect(types.slice(0, 2)).toEqual(['welcome', 'subscribed'])
  })

  it('says what is wrong with its arguments, and what the plan leaves out', async () => {
    const { run } = await serve('explorer')
    expect((await run('watch')).status).toBe(2)
    expect((await run('watch', B, '--contract', 'BTC-15m')).status).toBe(2)
    expect((await run('watch', B, 'venuec:0x00')).err).toContain('unknown_market')
    expect((await run('watch', '--contract', 'btc-15m-up-down-20261117T180000Z')).status).toBe(4)
    const part = await run('watch', '--contract', 'BTC-15m', '--count', '2')
    expect(part.err).toContain('members_withheld')
    expect(part.out).not.toContain('venuea')
  })
})

it('a family without an open contract is told apart from a contract that is not known', async () => {
  const { run } = await serve()
  const none = await run('watch', '--contract', 'ETH-15m')
  expect([none.status, none.err]).toEqual([
    7,
    expect.stringContaining('no contract ETH-15m is open now'),
  ])
})

describe('the screen of several markets', () => {
  const plain = (_style: unknown, text: string): string => text
  const size = { columns: 140, rows: 20 }

  it('has best prices, sizes and age of every member, or a gap or reason', async () => {
    const { client, store } = await serve()
    const { data } = await client.contract(ROUND_ID)
    // The operator may take the second outcome for Yes: its prices are those of the other turned round.
    const members = data.members.map((member) =>
      member.venue === 'venueb'
        ? { ...member, yes: { ...member.yes, outcome: 'No', index: 1 } }
        : member,
    )
    const board = new WatchBoard(ROUND_ID, members, { facts: ['closes soon'] })
    const lines = (at: number): string[] =>
      board.draw(size, 10, plain, at).map((line) => line.trimEnd().replace(/  +/g, '  '))
    expect(lines(0)[4]).toBe(`venuea  Up  –  –  –  –  –  no book yet  8691520`)
    const a = new MarketWriter(store, roundOfA())
    const c = new MarketWriter(store, roundOfC())
    const stop = new AbortController()
    const { signal } = stop
    let clock = 0
    for await (const message of client.live(
      { contract_id: ROUND_ID, number_format: 'string' },
      { signal },
    )) {
      if (message.type === 'welcome') clock = Date.now()
      board.apply(message, clock)
      if (message.type === 'snapshots_done') {
        await a.gap('instrument', 1, undefined, 1)
        await c.gap('venue', 60, undefined, 0)
      }
      if (message.type === 'gap' && message.gap.venue === 'venuec') stop.abort()
    }
    const shown = lines(clock + 1000)
    expect(shown[0]).toBe(ROUND_ID)
    expect(shown[3]).toBe('VENUE  OUTCOME  SIZE  BID  ASK  SIZE  AGE  STATE  MARKET')
    expect(shown[4]).toMatch(
      /^venuea  Up  10\.5  0\.48  0\.52  5  2 min  gap: disconnected  8691520$/,
    )
    expect(shown[5]).toMatch(/^venueb  No  1  0\.56  0\.59  10  \d+ (?:s|min)  KXBTC15M/)
    expect(shown[6]).toMatch(
      /^venuec  Up  100  0\.4  0\.6  50\.123456  \d+ (?:s|min)  gap: disconnected  0x/,
    )
    expect(shown.at(-1)).toMatch(/^● live  not observed from now on: disconnected/)
    for (const line of board.draw({ columns: 80, rows: 20 }, 10, plain, clock)) {
      expect(line.length).toBeLessThanOrEqual(80)
    }
  })
})
