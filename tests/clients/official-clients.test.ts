import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator } from '@priorbook/emulator'
import { openCaller, type Caller, type ClientPackage } from './caller.ts'
import { install, type Installed } from './install.ts'
import { describeKalshi } from './kalshi.contract.ts'
import { describePolymarket } from './polymarket.contract.ts'
import { fromBidsOnly, sentToNewest, toPlainBook, toUnits, type Side } from './truth-books.ts'

// The venues' own clients and nautilus_trader, all of which read the emulator over loopback. The newest
// Kalshi client needs Python 3.13. nautilus_trader (190 MB) has an adapter of Polymarket and none of Kalshi.
const PACKAGES = {
  python: '3.13',
  pip: [
    'py-clob-client==0.34.6',
    'py-clob-client-v2==1.2.1',
    'kalshi_python_sync==3.34.0',
    'nautilus_trader==1.231.0',
    'websocket-client==1.9.2',
    'websockets==17.4',
  ],
  npm: [
    '@polymarket/clob-client@5.8.1',
    '@polymarket/clob-client-v2@1.1.0',
    'kalshi-typescript@3.30.0',
  ],
  // Both Polymarket clients accept any later version, so that runs would differ from day to day.
  npmOverrides: { viem: '2.46.3' },
}
// A minute on a quiet machine, most of it nautilus_trader.
const INSTALL_MS = 400_000

let installed: Installed
let emulator: Emulator

beforeAll(async () => {
  // Started first: markets trade while packages are installed.
  emulator = await startEmulator({
    seed: 7,
    // Kalshi's quotas are multiplied by it; clients call without a pause.
    speed: 4,
    venues: ['venueb', 'venuec'],
    breadth: { venueb: 300, venuec: 150 },
    rates: { breadth: 25, turnover: 8 },
    log: { memory: true },
  })
  installed = await install(PACKAGES)
}, INSTALL_MS)

afterAll(async () => {
  await emulator.close()
  installed.remove()
  // Thousands of files.
}, INSTALL_MS)

const POLYMARKET: readonly (ClientPackage & { readonly hasHistory: boolean })[] = [
  { language: 'python', name: 'py_clob_client', hasHistory: false },
  { language: 'python', name: 'py_clob_client_v2', hasHistory: true },
  { language: 'javascript', name: '@polymarket/clob-client', hasHistory: true },
  { language: 'javascript', name: '@polymarket/clob-client-v2', hasHistory: true },
]

describe.each(POLYMARKET)('the $language client $name', (client) => {
  const caller = useCaller(client, () => emulator.addresses.venuec!)
  describePolymarket({ caller, emulator: () => emulator, hasHistory: client.hasHistory })
})

const KALSHI: readonly ClientPackage[] = [
  { language: 'python', name: 'kalshi_python_sync' },
  { language: 'javascript', name: 'kalshi-typescript' },
]

describe.each(KALSHI)('the $language client $name', (client) => {
  const caller = useCaller(client, () => emulator.addresses.venueb!)
  describeKalshi({ caller, emulator: () => emulator })
})

type Followed = {
  readonly frames: number
  readonly books: Readonly<Record<string, readonly [Side, Side]>>
  readonly trades: readonly (readonly string[])[]
}

const FRAMES = 80
const TRADES = 3
// A follower takes seconds to start, and a market that closes meanwhile has no book any more.
const LASTING_MS = 120_000
const isLasting = (closes: string): boolean => Date.parse(closes) - Date.now() > LASTING_MS

describe('the sockets', () => {
  it("give a follower of Polymarket's example the books and trades of the truth log", async () => {
    const tokens = await busyTokens(20)
    const { ws } = emulator.addresses.venuec!
    const told = await follow<Followed>('polymarket_socket.py', [ws, tokens, FRAMES, TRADES])
    const { books, payloads } = sentToNewest(emulator, 'venuec', told.frames)
    expect(told.frames).toBeGreaterThanOrEqual(FRAMES)
    expect(Object.keys(told.books).toSorted()).toEqual(tokens.toSorted())
    for (const [token, [bids, asks]] of Object.entries(told.books)) {
      expect(toPlainBook(bids, asks)).toEqual(books.get(token))
    }
    const trades = told.trades.map(([token, price, size, side]) => {
      return [token, toUnits(price!, 10_000), toUnits(size!, 1_000_000), side!.toLowerCase()]
    })
    expect(trades).toEqual(fillsOf(payloads).slice(0, trades.length))
  })

  it('give a signed follower of Kalshi the books, trades and lifecycle of the truth log', async () => {
    const { rest, ws, keyId, privateKey } = emulator.addresses.venueb!
    const address = `${rest}/markets?status=open&mve_filter=exclude&limit=1000`
    type Market = { ticker: string; volume_fp: string; close_time: string }
    const { markets } = (await (await fetch(address)).json()) as { markets: Market[] }
    const busy = markets
      .filter(({ close_time: closes }) => isLasting(closes))
      .sort((a, b) => Number(b.volume_fp) - Number(a.volume_fp))
    const tickers = busy.slice(0, 40).map(({ ticker }) => ticker)
    const told = await follow<
      Followed & {
        readonly lifecycle: readonly [string, string][]
        readonly gaps: number
        readonly refused: number
      }
    >('kalshi_socket.py', [ws, keyId, privateKey, tickers, FRAMES, TRADES, 2])
    const { books, payloads } = sentToNewest(emulator, 'venueb', told.frames)
    expect(told).toMatchObject({ gaps: 0, refused: 401 })
    expect(told.frames).toBeGreaterThanOrEqual(FRAMES)
    expect(Object.keys(told.books).toSorted()).toEqual(tickers.toSorted())
    for (const [ticker, [yes, no]] of Object.entries(told.books)) {
      expect(fromBidsOnly(yes, no)).toEqual(books.get(ticker))
    }
    const trades = told.trades.map(([, ticker, price, count, side]) => {
      const taker = side === 'yes' ? 'buy' : 'sell'
      return [ticker, toUnits(price!, 10_000), toUnits(count!, 1_000_000), taker]
    })
    expect(trades).toEqual(fillsOf(payloads).slice(0, trades.length))
    const changed = payloads.filter(({ kind }) => kind === 'market').map(({ key }) => key)
    expect(told.lifecycle.length).toBeGreaterThan(1)
    expect(told.lifecycle.map(([ticker]) => ticker)).toEqual(
      changed.slice(0, told.lifecycle.length),
    )
  })
})

describe("nautilus_trader's adapter of Polymarket", () => {
  type Instrument = Readonly<Record<string, string>> & { readonly expires: number }
  type Told = Followed & { readonly clob: Instrument[]; readonly gamma: Instrument[] }

  it('loads instruments and folds its deltas to the books of the truth log', async () => {
    const tokens = await busyTokens(20)
    const { gamma, clob, ws } = emulator.addresses.venuec!
    const args = [{ gamma, clob, ws }, tokens, FRAMES, TRADES]
    const told = await follow<Told>('nautilus_polymarket.py', args)
    const { books, payloads } = sentToNewest(emulator, 'venuec', told.frames)
    expect(told.frames).toBeGreaterThanOrEqual(FRAMES)
    expect(Object.keys(told.books).toSorted()).toEqual(tokens.toSorted())
    for (const [token, [bids, asks]] of Object.entries(told.books)) {
      expect(toPlainBook(bids, asks)).toEqual(books.get(token))
    }
    const trades = told.trades.map(([token, price, size, side]) => {
      const taker = side === 'BUYER' ? 'buy' : 'sell'
      return [token, toUnits(price!, 10_000), toUnits(size!, 1_000_000), taker]
    })
    expect(trades).toEqual(fillsOf(payloads).slice(0, trades.length))
    const markets = await readGamma()
    for (const loaded of [told.clob, told.gamma]) {
      expect(loaded.length).toBeGreaterThan(300)
      const byToken = new Map(loaded.map((one) => [one['token'], one]))
      expect(byToken.size).toBe(loaded.length)
      for (const market of markets) expectInstruments(market, byToken)
    }
  })

  function expectInstruments(market: Gamma, byToken: Map<string | undefined, Instrument>): void {
    const outcomes = JSON.parse(market.outcomes) as string[]
    for (const [at, token] of tokensOf(market).entries()) {
      const loaded = byToken.get(token)
      // A market of the last seconds was not there yet.
      if (loaded === undefined) continue
      expect(loaded).toMatchObject({
        condition: market.conditionId,
        question: market.question,
        outcome: outcomes[at],
        takerFee: String(market.feeSchedule?.rate ?? 0),
      })
    }
  }
})

type Gamma = {
  readonly conditionId: string
  readonly question: string
  readonly clobTokenIds: string
  readonly outcomes: string
  readonly endDate: string
  readonly feeSchedule?: { readonly rate: number }
}

/** The hundred busiest open markets. */
async function readGamma(): Promise<Gamma[]> {
  const query = 'limit=100&order=volumeNum&ascending=false'
  const answer = await fetch(`${emulator.addresses.venuec!.gamma}/markets?${query}`)
  return (await answer.json()) as Gamma[]
}

async function busyTokens(markets: number): Promise<string[]> {
  const lasting = (await readGamma()).filter(({ endDate }) => isLasting(endDate))
  return lasting.slice(0, markets).flatMap(tokensOf)
}

function tokensOf({ clobTokenIds }: Gamma): string[] {
  return JSON.parse(clobTokenIds) as string[]
}

function fillsOf(
  payloads: ReturnType<typeof sentToNewest>['payloads'],
): (readonly [string, number, number, string])[] {
  return payloads.flatMap((payload) => {
    if (payload.kind !== 'trade') return []
    const { price, size, taker } = payload.fill
    return [[payload.key, price, size, taker] as const]
  })
}

/** Runs a Python program that prints one JSON object as its last line. */
async function follow<T>(program: string, args: readonly unknown[]): Promise<T> {
  const path = join(import.meta.dirname, program)
  const { code, text } = await installed.run(installed.python('python'), [
    path,
    JSON.stringify(args),
  ])
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${text}`)
  const last = text.trim().split('\n').at(-1)!
  return JSON.parse(last.slice(last.indexOf('{'))) as T
}

function useCaller(
  client: ClientPackage,
  addresses: () => Readonly<Record<string, string>>,
): () => Caller {
  let caller: Caller
  beforeAll(() => {
    caller = openCaller(installed, client, addresses())
  })
  afterAll(() => caller.close())
  return () => caller
}
