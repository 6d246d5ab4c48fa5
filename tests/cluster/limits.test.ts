import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../capture/recorder-process.ts'
import { createService, run, type ServiceProcess } from '../service-process.ts'
import { startPostgres, type PostgresCluster } from './postgres.ts'
import { startRedis, type RedisServer } from './redis.ts'

const PATIENCE_MS = 60_000
/** What the plan `quant` allows in a second. */
const QUOTA = 25

let database: PostgresCluster
let redis: RedisServer
const nodes: ServiceProcess[] = []

beforeAll(async () => {
  database = await startPostgres()
  redis = await startRedis()
  const address = await database.createDatabase('limits')
  const recorded = await createService(['--upstream', 'emulator', '--workers', '1'])
  await recorded.start()
  await pause(2_000)
  await recorded.stop()
  // Not through the door, which this process holds open.
  const direct = database.addressOf(database.nodes[0]!, 'limits')
  run('copy', '--from', recorded.data, '--to', direct)
  await recorded.destroy()
  for (let at = 0; at < 2; at++) {
    const shared = ['--role', 'api', '--store', address, '--redis', redis.address]
    const node = await createService([...shared, '--upstream', 'none', '--workers', '2'])
    nodes.push(node)
    await node.start()
  }
})

afterAll(async () => {
  for (const node of nodes) await node.destroy()
  await redis?.kill()
  await database?.stop()
})

type Asked = {
  readonly node: number
  readonly status: number
  readonly from: number
  readonly to: number
}

/** Asks all nodes as fast as they answer; says when each request was sent and answered. */
async function flood(key: string, forMs: number): Promise<Asked[]> {
  const asked: Asked[] = []
  const end = performance.now() + forMs
  const one = async (node: number): Promise<void> => {
    while (performance.now() < end) {
      const from = performance.now()
      const headers = { authorization: `Bearer ${key}` }
      const answer = await fetch(`${nodes[node]!.url}/v3/limits`, { headers })
      await answer.arrayBuffer()
      asked.push({ node, status: answer.status, from, to: performance.now() })
      await pause(2)
    }
  }
  await Promise.all([0, 1, 0, 1, 0, 1].map(one))
  return asked
}

/** The most requests that were admitted for sure within any second: sent and answered in it. */
function mostInSecond(asked: readonly Asked[]): number {
  const admitted = asked.filter(({ status }) => status === 200)
  return Math.max(
    ...admitted.map(
      ({ from }) => admitted.filter((one) => one.from >= from && one.to <= from + 1000).length,
    ),
  )
}

function perSecond(asked: readonly Asked[]): number {
  const admitted = asked.filter(({ status }) => status === 200)
  return admitted.length / ((asked.at(-1)!.to - asked[0]!.from) / 1000)
}

/** What four requests, two of each node, say is left of a second in which nothing else was asked. */
function leftInSecond(key: string): Promise<readonly number[]> {
  return until('four requests within a second', PATIENCE_MS, async () => {
    await pause(1_200)
    const headers = { authorization: `Bearer ${key}` }
    const left: number[] = []
    const from = performance.now()
    for (const node of [0, 1, 0, 1]) {
      const answer = await fetch(`${nodes[node]!.url}/v3/limits`, { headers })
      left.push(Number(/second";r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]))
      await answer.arrayBuffer()
    }
    // A machine that stands still meanwhile begins another second.
    return performance.now() - from < 900 ? left : undefined
  })
}

async function keyOfBoth(): Promise<string> {
  const key = nodes[0]!.keyOf('quant')
  const headers = { authorization: `Bearer ${key}` }
  const statusOf = async (node: ServiceProcess): Promise<number> => {
    const answer = await fetch(`${node.url}/v3/limits`, { headers })
    await answer.arrayBuffer()
    return answer.status
  }
  // Each node has several processes, which hear of a key one after the other.
  await until('a key on both nodes', PATIENCE_MS, async () => {
    const asked = nodes.flatMap((node) => Array.from({ length: 10 }, () => statusOf(node)))
    const statuses = await Promise.all(asked)
    return statuses.every((status) => status === 200 || status === 429) ? true : undefined
  })
  await pause(1_500)
  return key
}

describe('limits over several nodes', () => {
  it('are exact with Redis: no second has more than the plan allows, over all nodes', async () => {
    const key = await keyOfBoth()
    const asked = await flood(key, 4_000)
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200, 429]))
    expect(mostInSecond(asked)).toBeLessThanOrEqual(QUOTA)
    expect(perSecond(asked)).toBeGreaterThan(QUOTA * 0.8)
    // Both nodes say how much is left for all of them.
    expect(await leftInSecond(key)).toEqual([24, 23, 22, 21])
  })

  it.each(['kill', 'freeze'] as const)(
    'are shared out while Redis is gone (%s), and exact again afterwards',
    async (how) => {
      const key = await keyOfBoth()
      if (how === 'kill') await redis.kill()
      else redis.freeze()
      await pause(1_500)
      const alone = await flood(key, 3_000)
      // Each node allows its half of 25, rounded down.
      expect(mostInSecond(alone)).toBeLessThanOrEqual(24)
      expect(perSecond(alone)).toBeGreaterThan(12)
      expect(alone.every(({ status }) => status === 200 || status === 429)).toBe(true)
      if (how === 'kill') await redis.start()
      else redis.thaw()
      await pause(3_000)
      const again = await flood(key, 3_000)
      expect(mostInSecond(again)).toBeLessThanOrEqual(QUOTA)
      expect(perSecond(again)).toBeGreaterThan(QUOTA * 0.8)
    },
  )

  it('adds up the usage of all nodes, on every node', async () => {
    const key = nodes[0]!.keyOf('unlimited')
    const headers = { authorization: `Bearer ${key}` }
    const ask = async (node: number, path: string): Promise<Response> =>
      fetch(`${nodes[node]!.url}${path}`, { headers })
    await until('the key on both nodes', PATIENCE_MS, async () =>
      (await ask(1, '/v3/whoami')).status === 200 ? true : undefined,
    )
    for (let at = 0; at < 10; at++) await (await ask(at % 2, '/v3/status')).arrayBuffer()
    const countOf = async (node: number): Promise<number> => {
      const { data } = (await (await ask(node, '/v3/usage')).json()) as {
        data: readonly { route: string; requests: number }[]
      }
      return data.find(({ route }) => route === 'status')?.requests ?? 0
    }
    const both = await until('the same usage', PATIENCE_MS, async () => {
      const counts = [await countOf(0), await countOf(1)]
      return counts.every((count) => count >= 10) ? counts : undefined
    })
    expect(both).toEqual([10, 10])
  })
})
