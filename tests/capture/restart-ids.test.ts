import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, type TestContext } from 'vitest'
import { startServe } from '../../packages/service/src/commands/serve.testing.ts'
import { until } from './recorder-process.ts'

const PRINTED_MS = 30_000
/** Rounds of five minutes last three seconds. */
const SPEED = '100'

type Market = {
  readonly venue: string
  readonly market_id: string
  readonly status: string
  readonly open_time: string | null
  readonly last_anomaly: { readonly code: string } | null
}

/** `serve` as `npm start` runs it, on ports of its own. */
async function serve({ onTestFinished }: TestContext, home: string) {
  const { child, end, url, printed } = await startServe(home, [
    '--data',
    join(home, 'data'),
    '--speed',
    SPEED,
  ])
  onTestFinished(() => void child.kill('SIGKILL'))
  const key = /(pb_\w+_[0-9A-Za-z]{36})/.exec(printed())?.[1] ?? ''
  return {
    async markets(query: string): Promise<Market[]> {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await fetch(`${url}/v3/markets?limit=1000&${query}`, { headers })
      const body = (await answer.json()) as { data: Market[] }
      return body.data
    },
    async stop(): Promise<void> {
      await end()
    },
  }
}

test('a resolved market stays what it was when the service starts again', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-restart-'))
  context.onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }))
  const first = await serve(context, home)
  const venues = ['venuea', 'venueb', 'venuec']
  await until('resolved markets of all venues', 2 * PRINTED_MS, async () => {
    const resolved = await first.markets('status=resolved')
    const found = venues.every(
      (venue) => resolved.filter((market) => market.venue === venue).length >= 2,
    )
    return found ? true : undefined
  })
  const resolved = await first.markets('status=resolved')
  // A market that only a message about its status has told gets its times later.
  const before = resolved.filter((market) => market.open_time !== null)
  await first.stop()
  const second = await serve(context, home)
  // As long as the first start took to list the markets that it began with, and their next rounds.
  await pause(8_000)
  const after = new Map((await second.markets('sort=open_time')).map((one) => [one.market_id, one]))
  const changed = before.flatMap((was) => {
    const now = after.get(was.market_id)
    const texts = [describe(was), describe(now)] as const
    return texts[0] === texts[1] ? [] : [`${was.venue} ${was.market_id}: ${texts.join(' → ')}`]
  })
  expect(changed).toEqual([])
  const reused = [...after.values()].filter((one) => one.last_anomaly?.code === 'reused_id')
  expect(reused).toEqual([])
  await second.stop()
})

function describe(market: Market | undefined): string {
  return market === undefined ? 'not listed' : `${market.status} since ${market.open_time}`
}
