import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { load, type LoadResult } from '../lib/http-load.ts'
import { makePlan } from '../lib/plan.ts'
import type { PeerJob } from './job.ts'
import type { Built } from './run-peer.ts'

const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const CONNECTIONS = 16

/** Pages of 100 full books a second from a peer behind fastify, at the places of the plan. */
export async function measurePeerApi(
  script: string,
  jobFile: string,
  job: PeerJob,
): Promise<Readonly<Record<string, unknown>>> {
  const build = spawnSync(process.execPath, [script, jobFile, 'build'], { stdio: 'inherit' })
  if (build.status !== 0) throw new Error(`${script} could not be built`)
  const { markets } = JSON.parse(readFileSync(join(job.work, 'built.json'), 'utf8')) as Built
  const server = spawn(process.execPath, [script, jobFile, 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  try {
    const port = Number(await firstLine(server.stdout))
    const requests = makePlan(job.seed, markets).pages100.map(
      ({ ticker, from }) =>
        `GET /page?ticker=${ticker}&from=${from} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`,
    )
    const task = { host: '127.0.0.1', port, requests, connections: CONNECTIONS }
    await load({ ...task, seconds: 3 })
    const result: LoadResult = await load({ ...task, seconds: SECONDS })
    if (Object.keys(result.statuses).join() !== '200') {
      throw new Error(`statuses ${JSON.stringify(result.statuses)}`)
    }
    return {
      page_100_per_s: Math.round(result.perSecond),
      page_100_bytes: Math.round(result.bytes),
      p99_ms: result.p99Ms,
    }
  } finally {
    server.stdin.end()
    await ended
  }
}

function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => createInterface({ input }).once('line', resolve))
}
