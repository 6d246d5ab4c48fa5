import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import type { CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { VenueCHistory } from './history.ts'

const END = Date.parse('2026-11-17T00:00:00Z') * 1000
const OPEN_SECONDS = END / 1e6 - 1800
const ROUND = { conditionId: '0xa', slug: `btc-updown-15m-${OPEN_SECONDS}` }
const scope = {
  asset: 'BTC',
  window: '15m',
  start: toMicros(END - 3_600_000_000),
  end: toMicros(END),
  withOpen: false,
}
const quota = { limit: 1000, windowMs: 1000 }

/** Walks a Gamma that closes its one round before the request with this number; the ids that were kept. */
async function walk(closesAt: number): Promise<Set<string>> {
  let requests = 0
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url!, 'http://gamma')
    const isClosed = requests++ >= closesAt
    const isListed = searchParams.get('closed') === String(isClosed)
    response.end(JSON.stringify(isListed ? [ROUND] : []))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const kept = new Set<string>()
  const sink = {
    now: () => toMicros(END),
    steadyNow: () => toMicros(END),
    position: () => 0,
    note: () => undefined,
    answer: (_request: CaptureRequest, _at: number, _bytes: Uint8Array, value: unknown) => {
      for (const { conditionId } of value as (typeof ROUND)[]) kept.add(conditionId)
      return { events: [], problems: [] }
    },
  } as unknown as CaptureSink
  const { port } = server.address() as AddressInfo
  const base = `http://127.0.0.1:${port}`
  const quiet = (): void => undefined
  const history = new VenueCHistory(
    {
      gammaBase: base,
      dataBase: base,
      clobBase: base,
      quotas: { gamma: quota, data: quota, prices: quota },
    },
    {
      sink,
      log: { info: quiet, warn: quiet, error: quiet },
      areComplete: () => Promise.resolve(false),
    },
  )
  for await (const _step of history.catalogue(scope, AbortSignal.timeout(20_000))) continue
  return kept
}

it.each([0, 1, 2, 3, 4, 100])(
  'finds a round that closes before request %i of a walk',
  async (closesAt) => {
    expect(await walk(closesAt)).toEqual(new Set(['0xa']))
  },
)
