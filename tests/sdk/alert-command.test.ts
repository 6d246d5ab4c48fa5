import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  after,
  createContractStore,
  MarketWriter,
  roundOfB,
} from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { openAlerts } from '../../packages/service/src/alerts/alert-worker.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { createTempFolder } from '../../packages/service/src/store/embedded/temp-folder.testing.ts'
import { runCommand } from './run-command.ts'

const B = roundOfB()
const MARKET = `venueb:${B.marketId}`

async function serve() {
  const store = await createContractStore([{ record: B }])
  const now = () => after(120)
  const path = createTempFolder()
  const delivery = { timeoutMs: 1000, retryMinMs: 1000, retryMaxMs: 1000, giveUpMs: 1000 }
  const file = join(path, 'alerts.db')
  const source = {
    get knownKeys() {
      return test.access.knownKeys
    },
    get plans() {
      return test.access.plans
    },
  }
  const options = { file, queue: 10, allowNetworks: [], ...delivery }
  const alerts = openAlerts(options, source, now)
  onTestFinished(() => alerts.stop())
  const signup = { bits: 8, perMinute: 100, keys: 100 }
  const test = await createTestServer({ store, now, path, alerts: alerts.rules, signup })
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const { url } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: test.keyOf('desk') }
  const call = (...args: string[]) => runCommand(args, env)
  return { store, call, url }
}

it('follows a rule on the stream and prints its crossings', async () => {
  const { store, call } = await serve()
  const writer = new MarketWriter(store, B)
  await writer.book(1, [['0.39', '10']], [['0.41', '10']])
  const running = call(
    'alert',
    MARKET,
    '--above',
    '0.5',
    '--rearm',
    '0.05',
    '--count',
    '2',
    '--json',
  )
  const over = new AbortController()
  void running.then(() => over.abort())
  // Crossings until two were printed.
  for (let second = 120; !over.signal.aborted; second += 10) {
    await writer.book(second, [['0.39', '10']], [['0.41', '10']])
    await writer.book(second + 1, [['0.69', '10']], [['0.71', String(second)]])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { status, out, err } = await running
  expect([status, err]).toEqual([0, ''])
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(events).toHaveLength(2)
  for (const event of events) {
    expect(event).toMatchObject({ kind: 'price', value: '0.7', market_id: B.marketId })
    // The first book is sequence 1, then pairs of below and above.
    expect(Number(String(event['row_id']).split(':').at(-1)) % 2).toBe(1)
  }
})

it('creates, lists, tests and deletes rules of the service', async () => {
  const { call } = await serve()
  const hook = 'https://example.org/hook'
  const made = await call('alert', MARKET, '--kind', 'gap', '--name', 'holes', '--webhook', hook)
  expect(made).toMatchObject({ status: 0, err: '' })
  const [, id = ''] = /created (alert_\w+)\nsecret whsec_\S+\n/.exec(made.out) ?? []
  expect((await call('alert', '--list')).out).toMatch(
    new RegExp(`${id} +gap +active +0 +0 +0 +0 +holes`),
  )
  expect((await call('alert', '--test', id)).out).toContain('is on its way')
  expect((await call('alert', '--deliveries', id)).out).toMatch(/1 +pending +0/)
  expect((await call('alert', '--delete', id)).out).toBe(`deleted ${id}\n`)
  const gone = await call('alert', '--delete', id)
  expect(gone.status).not.toBe(0)
  expect(gone.err).toContain('no alert')
  const wrong = await call('alert', MARKET)
  expect([wrong.status, wrong.err]).toEqual([2, expect.stringContaining('above')])
})

it('solves the puzzle of a sign-up, and prints a key that works', async () => {
  const { call, url } = await serve()
  const { status, out } = await call('signup', '--name', 'me')
  expect(status).toBe(0)
  const key = out.trim()
  const answer = await fetch(`${url}/v3/whoami`, { headers: { authorization: `Bearer ${key}` } })
  expect(await answer.json()).toMatchObject({ data: { plan: 'explorer', name: 'me' } })
})
