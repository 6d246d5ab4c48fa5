import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Gap } from '@priorbook/sdk/domain'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { check, type Verdict } from './checker.ts'
import { pause, start, type Running } from './harness.ts'
import { until } from './recorder-process.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'
const SIZE = FULL ? { venueb: 4000, venuec: 2000 } : { venueb: 400, venuec: 200 }
const BOOKS = SIZE.venueb + 2 * SIZE.venuec
const OPEN_MS = 120_000
const SECONDS = FULL ? 60 : 12

describe('two whole venues of many kinds of markets', () => {
  let run: Running
  let verdict: Verdict
  let open = 0
  /** Tokens and tickers that the venues' own lists say trade, a while before the recorder stopped. */
  let trading: readonly string[] = []
  /** All gaps of sockets of venue C, and those of the one that was ended. */
  let lost: Gap[] = []
  let cut: readonly Gap[] = []

  beforeAll(async () => {
    run = await start({
      seed: 19,
      venues: ['venueb', 'venuec'],
      breadth: SIZE,
      rates: { breadth: 300, turnover: 60 },
      record: ['venueb', 'venuec'],
      env: { PRIORBOOK_VENUEB_SELECT: 'all', PRIORBOOK_VENUEC_SELECT: 'all' },
    })
    await until('all books', OPEN_MS, async () => {
      open = openBooks(run)
      return open >= BOOKS ? true : undefined
    })
    await until('both walks', OPEN_MS, async () => {
      const walked = ['walked:venueb', 'walked:venuec'].map((name) => run.store.fact(name))
      return (await Promise.all(walked)).includes(undefined) ? undefined : true
    })
    trading = [...(await listTradingTokens(run)), ...(await listTradingTickers(run))]
    await pause((SECONDS * 1000) / 2)
    // One of the sockets of venue C ends.
    const connection = lastConnection(run)
    const at = Date.now() * 1000
    run.emulator.inject({ fault: { kind: 'disconnect' }, target: { venue: 'venuec', connection } })
    await pause((SECONDS * 1000) / 2)
    // Markets are listed while others begin: a busy machine may not have found the newest yet.
    for (let waited = 0; waited < OPEN_MS && (await unrecorded(run, trading)).length > 0;) {
      await pause(500)
      waited += 500
    }
    const stopped = await run.stop()
    lost = []
    for (const reason of ['disconnected', 'venue_silent'] as const) {
      lost.push(...(await run.store.gaps({ venue: 'venuec', reason })))
    }
    // A gap begins with the last message of its book, and a quiet one may have none but its first.
    cut = lost.filter(({ reason, end = Infinity }) => reason === 'disconnected' && end > at)
    verdict = await check(run.emulator.truth.entries, run.store, { until: stopped - 200_000 })
  }, 400_000)

  afterAll(async () => {
    await run.destroy()
  })

  it('are recorded observation by observation', () => {
    expect(verdict.complaints).toEqual([])
    // What a busy recorder had not read of a socket that ended is lost with it, inside a gap.
    const ended = new Set(lost.map(({ key }) => key))
    expect(verdict.lostKeys.filter((key) => !ended.has(key))).toEqual([])
    expect(verdict.unseen).toBe(0)
    expect(verdict.instruments).toBeGreaterThanOrEqual(BOOKS)
    expect(verdict.rows).toBeGreaterThan(BOOKS)
  })

  it('have a book of everything that the venues say trades', async () => {
    expect(trading.length).toBeGreaterThan(BOOKS)
    expect(await unrecorded(run, trading)).toEqual([])
  })

  it('lose only the books of a socket that ends', () => {
    expect(cut.length).toBeGreaterThan(0)
    // A socket has at most 200 tokens.
    expect(new Set(cut.map(({ key }) => key)).size).toBeLessThanOrEqual(200)
  })

  it('say of every market why it is recorded, and are walked once', async () => {
    const { markets } = await run.store.markets({ venue: 'venueb', status: 'open', limit: 2000 })
    const tiers = new Set(markets.map(({ record }) => record.capture?.tier))
    expect([...tiers]).toEqual(['full'])
    expect(await run.store.fact('walked:venueb')).toBeGreaterThan(0)
    expect(await run.store.fact('walked:venuec')).toBeGreaterThan(0)
    const categories = new Set(markets.map(({ record }) => record.category))
    expect(categories.size).toBeGreaterThan(3)
  })

  it('give the same tape again from the journal', { timeout: 300_000 }, async () => {
    expect(await run.store.quarantine({ limit: 10 })).toEqual([])
    await run.store.seal()
    const report = await compareWithJournal(run.store, run.data)
    expect(report.differences).toEqual([])
    expect(report.records).toBeGreaterThan(verdict.rows / 2)
  })
})

async function unrecorded({ store }: Running, keys: readonly string[]): Promise<string[]> {
  const recorded = await store.instruments()
  const known = new Set(recorded.map(({ instrument }) => instrument.key))
  return keys.filter((key) => !known.has(key))
}

function openBooks({ recorder }: Running): number {
  const { venues } = recorder.status()
  return Object.values(venues).reduce((sum, { books }) => sum + books.open, 0)
}

function lastConnection({ emulator }: Running): string {
  // A busy recorder may have lost the first one already.
  const frame = emulator.truth.entries.findLast(
    (entry) => entry.type === 'frame' && entry.venue === 'venuec' && entry.delivered === 'sent',
  )
  if (frame?.type !== 'frame') throw new Error('no frame of venue C')
  return frame.connection
}

async function listTradingTokens({ emulator }: Running): Promise<string[]> {
  type Listed = { readonly acceptingOrders: boolean; readonly clobTokenIds: string }
  const tokens: string[] = []
  for (let offset = 0; ; offset += 100) {
    const query = `closed=false&order=id&ascending=true&limit=100&offset=${offset}`
    const answer = await fetch(`${emulator.addresses.venuec!.gamma}/markets?${query}`)
    const page = (await answer.json()) as readonly Listed[]
    for (const { acceptingOrders, clobTokenIds } of page) {
      if (acceptingOrders) tokens.push(...(JSON.parse(clobTokenIds) as string[]))
    }
    if (page.length < 100) return tokens
  }
}

async function listTradingTickers({ emulator }: Running): Promise<string[]> {
  type Page = {
    readonly markets: readonly { readonly ticker: string; readonly status: string }[]
    readonly cursor: string
  }
  const tickers: string[] = []
  for (let cursor = ''; ;) {
    const query = `status=open&mve_filter=exclude&limit=1000&cursor=${cursor}`
    const answer = await fetch(`${emulator.addresses.venueb!.rest}/markets?${query}`)
    const page = (await answer.json()) as Page
    tickers.push(
      ...page.markets.filter(({ status }) => status === 'active').map((one) => one.ticker),
    )
    cursor = page.cursor
    if (cursor === '') return tickers
  }
}
