import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { hashReport } from './report/index.ts'
import { randomStrategy, randomTape } from './random-tape.testing.ts'
import { backtest, grid, sweep } from './run.ts'

const jitter = { kind: 'jitter', base: 1000, spread: 200_000 } as const

async function hashOf(chunk: number): Promise<string> {
  const { reports } = await backtest({
    events: randomTape(5, 400).batches(chunk),
    strategy: randomStrategy,
    seed: 11,
    latency: { entry: jitter, cancel: jitter },
  })
  return (await Promise.all(reports.map(hashReport))).join(' ')
}

// The same run inside a worker of its own.
function workerHash(): Promise<string> {
  const code = `
    import { parentPort } from 'node:worker_threads'
    const { backtest } = await import('${new URL('./run.ts', import.meta.url).href}')
    const { hashReport } = await import('${new URL('./report/index.ts', import.meta.url).href}')
    const random = await import('${new URL('./random-tape.testing.ts', import.meta.url).href}')
    const delay = ${JSON.stringify(jitter)}
    const { reports } = await backtest({
      events: random.randomTape(5, 400).batches(17),
      strategy: random.randomStrategy,
      seed: 11,
      latency: { entry: delay, cancel: delay },
    })
    parentPort.postMessage((await Promise.all(reports.map(hashReport))).join(' '))
  `
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

describe('the same data, code and seed', () => {
  it('give the same report for every run and batch size', async () => {
    const first = await hashOf(1000)
    expect(first).toMatch(/^[0-9a-f]{64} [0-9a-f]{64} [0-9a-f]{64}$/)
    const hashes = await Promise.all(
      Array.from({ length: 20 }, (_, round) => hashOf([1, 2, 7, 64, 1000][round % 5]!)),
    )
    expect(new Set(hashes)).toStrictEqual(new Set([first]))
    const workers = await Promise.all([workerHash(), workerHash()])
    expect(workers).toStrictEqual([first, first])
  })

  it('give another report with another seed', async () => {
    const other = await backtest({
      events: randomTape(5, 400).batches(),
      strategy: randomStrategy,
      seed: 12,
    })
    expect(await hashOf(64)).not.toContain(await hashReport(other.report))
  })

  it('give the same report in a sweep as alone', async () => {
    const params = grid({ a: [1, 2], b: ['x', 'y', 'z'] })
    expect(params).toHaveLength(6)
    const options = { strategy: randomStrategy, queue: 'optimistic', seed: 3 } as const
    const swept = await sweep({ ...options, params, events: randomTape(9, 300).batches() })
    for (const [index, each] of params.entries()) {
      const alone = await backtest({
        ...options,
        params: each,
        events: randomTape(9, 300).batches(),
      })
      expect(await hashReport(swept[index]!.report)).toBe(await hashReport(alone.report))
    }
  })
})
