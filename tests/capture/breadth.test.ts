import { describe, expect, it } from 'vitest'
import type { Gap } from '@priorbook/sdk/domain'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { check, type Verdict } from './checker.ts'
import { pause, start, type Running } from './harness.ts'
import { recordedFor } from './recorded.ts'
import { until } from './recorder-process.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'
const SIZE = FULL ? { venueb: 4000, venuec: 2000 } : { venueb: 400, venuec: 200 }
const BOOKS = SIZE.venueb + 2 * SIZE.venuec
const OPEN_MS = 120_000
const SECONDS = FULL ? 60 : 12

type Breadth = {
  readonly verdict: Verdict
  /** Tokens and tickers that the venues' own lists said trade both early and late. */
  readonly trading: readonly string[]
  /** All gaps of sockets of venue C, and those of the one that was ended. */
  readonly lost: readonly Gap[]
  readonly cut: readonly Gap[]
}

describe('two whole venues of many kinds of markets', { timeout: 700_000 }, () => {
  const recorded = recordedFor(begin, record)

  it('are recorded observation by observation', async (context) => {
    const { verdict, lost } = await recorded(context)
    expect(verdict.complaints).toEqual([])
    // What a busy recorder had not read of a socket that ended is lost with it, inside a gap.
    const ended = new Set(lost.map(({ key }) => key))
    expect(verdict.lostKeys.filter((key) => !ended.has(key))).toEqual([])
    expect(verdict.unseen).toBe(0)
    expect(verdict.instruments).toBeGreaterThanOrEqual(BOOKS)
    expect(verdict.rows).toBeGreaterThan(BOOKS)
  })

  it('have a book of everything that the venues say trades', async (context) => {
    const { run, trading } = await recorded(context)
    // Some markets ended while the recorder was looked at.
    expect(trading.length).toBeGreaterThan(BOOKS * 0.9)
    expect(await unrecorded(run, trading)).toEqual([])
  })

  it('lose only the books of a socket that ends', async (context) => {
    const { cut } = await recorded(context)
    expect(cut.length).toBeGreaterThan(0)
    // A socket has at most 200 tokens.
    expect(new Set(cut.map(({ key }) => key)).size).toBeLessThanOrEqual(200)
  })

  it('say of every market why it is recorded, and are walked once', async (context) => {
    const { run } = await recorded(context)
    const { markets } = await run.store.markets({ venue: 'venueb', status: 'open', limit: 2000 })
    const tiers = new Set(markets.map(({ record: { capture } }) => capture?.tier))
    expect([...tiers]).toEqual(['full'])
    expect(await run.store.fact('walked:venueb')).toBeGreaterThan(0)
    expect(await run.store.fact('walked:venuec')).toBeGreaterThan(0)
    const categories = new Set(markets.map(({ record: { category } }) => category))
    expect(categories.size).toBeGreaterThan(3)
  })

  it('give the same tape again from the journal', async (context) => {
    const { run, verdict } = await recorded(context)
    expect(await run.store.quarantine({ limit: 10 })).toEqual([])
    await run.store.seal()
    const report = await compareWithJournal(run.store, run.data)
    expect(report.differences).toEqual([])
    expect(report.records).toBeGreaterThan(verdict.rows / 2)
  })
})

function begin(): Promise<Running> {
  return start({
    seed: 19,
    venues: ['venueb', 'venuec'],
    breadth: SIZE,
    rates: { breadth: 300, turnover: 60 },
    record: ['venueb', 'venuec'],
    env: { PRIORBOOK_VENUEB_SELECT: 'all', PRIORBOOK_VENUEC_SELECT: 'all' },
  })
}

async function record(run: Running): Promise<Breadth> {
  await until('all books', OPEN_MS, () => (openBooks(run) >= BOOKS ? true : undefined))
  await until('both walks', OPEN_MS, async () => {
    const walked = ['walked:venueb', 'walked:venuec'].map((name) => run.store.fact(name))
    return (await Promise.all(walked)).includes(undefined) ? undefined : true
  })
  const early = await listTrading(run)
  await pause((SECONDS * 1000) / 2)
  // One of the sockets of venue C ends.
  const connection = lastConnection(run)
  const at = Date.now() * 1000
  run.emulator.inject({ fault: { kind: 'disconnect' }, target: { venue: 'venuec', connection } })
  await pause((SECONDS * 1000) / 2)
  // Markets are listed while others begin and end: a busy machine may not have found the newest yet.
  const trading = await until('a book of all that trade', OPEN_MS, async () => {
    const late = new Set(await listTrading(run))
    const both = early.filter((key) => late.has(key))
    if ((await unrecorded(run, both)).length === 0) return both
    return pause(500).then(() => undefined)
  })
  const stopped = await run.stop()
  const lost: Gap[] = []
  for (const reason of ['disconnected', 'venue_silent'] as const) {
    lost.push(...(await run.store.gaps({ venue: 'venuec', reason })))
  }
  // A gap begins with the last message of its book, and a quiet one may have none but its first.
  const cut = lost.filter(({ reason, end = Infinity }) => reason === 'disconnected' && end > at)
  const verdict = await check(run.emulator.truth.entries, run.store, { until: stopped - 200_000 })
  return { verdict, trading, lost, cut }
}

async function listTrading(run: Running): Promise<readonly string[]> {
  return [...(await listTradingTokens(run)), ...(await listTradingTickers(run))]
}

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
