import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { createRandom } from '../../packages/service/src/lib/random.testing.ts'
import {
  createDataFolder,
  record,
  type Script,
} from '../../packages/service/src/recorder/scripted.testing.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import {
  bookMessage,
  DOWN,
  MARKET,
  newMarketMessage,
  UP,
} from '../../packages/service/src/venues/venuec/fixtures.testing.ts'
import { recountParity } from './parity-recount.ts'
import { runCommand } from '../sdk/run-command.ts'

const HOUR = 3_600_000

type Level = { readonly side: 'BUY' | 'SELL'; readonly price: number; readonly size: number }

/** A token as the venue sees it; prices in thousandths. */
class Token {
  readonly bids = new Map<number, number>()
  readonly asks = new Map<number, number>()
  readonly id: string

  constructor(id: string) {
    this.id = id
  }

  get bestBid(): number {
    return Math.max(0, ...this.bids.keys())
  }

  get bestAsk(): number {
    return Math.min(1000, ...this.asks.keys())
  }

  set({ side, price, size }: Level): void {
    const levels = side === 'BUY' ? this.bids : this.asks
    if (size === 0) levels.delete(price)
    else levels.set(price, size)
  }

  isCrossedBy({ side, price }: Level): boolean {
    return side === 'BUY' ? price > this.bestAsk : price < this.bestBid
  }

  book(timestamp: string): object {
    const list = (levels: Map<number, number>): object[] =>
      [...levels].map(([price, size]) => ({ price: text(price), size: String(size) }))
    const sides = { bids: list(this.bids), asks: list(this.asks) }
    return bookMessage({ asset_id: this.id, timestamp, ...sides })
  }

  entry({ side, price, size }: Level): object {
    const best = { best_bid: text(this.bestBid), best_ask: text(this.bestAsk) }
    const hash = 'b'.repeat(40)
    return { asset_id: this.id, price: text(price), size: String(size), side, hash, ...best }
  }
}

function text(price: number): string {
  return String(price / 1000)
}

/** Plays a market whose outcomes contradict each other now and then; gives what was refused. */
function play(script: Script, random: () => number): { outOfBounds: number; crossed: number } {
  const refused = { outOfBounds: 0, crossed: 0 }
  const [up, down] = [new Token(UP), new Token(DOWN)]
  let at = 1_790_000_000_000
  const frame = (value: object): void => script.frame(1, value)
  const books = (): void => {
    for (const token of [up, down]) frame([token.book(String(at))])
  }
  const wait = (ms: number): void => {
    at += ms
    script.wait(ms)
  }
  up.set({ side: 'BUY', price: 400, size: 10 })
  up.set({ side: 'SELL', price: 600, size: 10 })
  down.set({ side: 'BUY', price: 400, size: 10 })
  down.set({ side: 'SELL', price: 600, size: 10 })
  script.note({ note: 'connected', slot: 1, url: 'ws://c' })
  frame(newMarketMessage())
  books()
  for (let step = 0; step < 590; step++) {
    // Over midnight twice.
    wait(step % 200 === 199 ? 20 * HOUR : 50)
    const isBid = random() < 0.5
    const fine = random() < 0.1 ? 0.5 : 0
    const price = Math.floor(30 + random() * 40) * 10 + fine
    const size = random() < 0.3 ? 0 : 1 + Math.floor(random() * 90)
    const own: Level = { side: isBid ? 'BUY' : 'SELL', price, size }
    const shift = random() < 0.15 ? Math.floor(random() * 13 - 6) * 10 : 0
    const other: Level = { side: isBid ? 'SELL' : 'BUY', price: 1000 - price + shift, size }
    const kind = random()
    if (kind < 0.02) {
      const bad = { ...own, price: 1000, size: 5 }
      frame({
        market: MARKET,
        price_changes: [up.entry(bad)],
        timestamp: String(at),
        event_type: 'price_change',
      })
      refused.outOfBounds++
      wait(10)
      books()
      continue
    }
    const others = step % 60 === 59 ? cheapDown(down) : [other]
    const isPlain = others[0] === other
    if (size > 0 && (up.isCrossedBy(own) || (isPlain && down.isCrossedBy(other)))) continue
    up.set(own)
    for (const level of others) down.set(level)
    const entries = [up.entry(own), ...others.map((level) => down.entry(level))]
    frame({
      market: MARKET,
      price_changes: entries,
      timestamp: String(at),
      event_type: 'price_change',
    })
    // A whole book that crosses is refused, and the recorder needs another one.
    if (kind > 0.98) {
      wait(10)
      const bids = [{ price: '0.9', size: '1' }]
      frame([{ ...up.book(String(at)), bids, asks: [{ price: '0.1', size: '1' }] }])
      refused.crossed++
      wait(10)
      books()
    }
  }
  return refused
}

// An offer of Down so low that both outcomes together cost less than 1.
function cheapDown(down: Token): Level[] {
  const gone = [...down.bids.keys()].map((price) => ({ side: 'BUY', price, size: 0 }) as const)
  return [...gone, { side: 'SELL', price: 250, size: 7 }]
}

type Day = Readonly<Record<string, string | number | null>>

it('counts by market and day what a plain recount of downloaded rows finds, also after a rebuild', async () => {
  const data = createDataFolder()
  let refused = { outOfBounds: 0, crossed: 0 }
  await record(data, 'venuec', async (script) => {
    refused = play(script, createRandom(11))
    await script.stored()
  })
  const recorded = await ask(data.path)
  expect(recorded.days.length).toBe(3)
  for (const day of recorded.days) {
    const { observations, ...counts } = recorded.recount.get(String(day['day']))!
    expect(day).toMatchObject(counts)
    expect(day['observations']).toBe(observations)
  }
  const total = (name: string): number =>
    recorded.days.reduce((sum, day) => sum + Number(day[name]), 0)
  for (const name of ['sum_off', 'complement_crossed', 'locked', 'off_tick']) {
    expect([name, total(name) > 0]).toEqual([name, true])
  }
  expect([total('out_of_bounds'), total('crossed')]).toEqual([refused.outOfBounds, refused.crossed])
  expect(refused.outOfBounds).toBeGreaterThan(0)
  expect(refused.crossed).toBeGreaterThan(0)
  // Without a market: the same days without observations, in pages, and as CSV.
  expect(recorded.listed).toEqual(recorded.days.map((day) => ({ ...day, observations: null })))
  expect(recorded.csv.split('\n')[1]).toContain(`venuec,${MARKET},${recorded.days[0]!['day']},,`)
  expect(recorded.cli).toContain(MARKET.slice(0, 8))
  expect((await callServer('rebuild', '--data', data.path, '--fresh')).code).toBe(0)
  expect((await ask(data.path)).days).toEqual(recorded.days)
})

async function ask(path: string) {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-parity-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const store = openEmbeddedStore({ file: join(path, 'tape.db'), readOnly: true })
  const access = openAccess(home)
  const server = createApiServer({ store, access })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'parity' })
  const get = (place: string) => fetch(url + place, { headers: { authorization: `Bearer ${key}` } })
  const rows = async (place: string) => ((await (await get(place)).json()) as { data: Day[] }).data
  try {
    const range = 'start_time=2026-09-20&end_time=2026-09-30'
    const scope = `venue=venuec&market_id=${MARKET}&${range}`
    const tape = Buffer.from(await (await get(`/v3/bulk?${scope}&format=tape`)).arrayBuffer())
    const listed: Day[] = []
    for (let cursor = ''; ;) {
      const answer = await get(`/v3/parity?venue=venuec&limit=2&${range}${cursor}`)
      const page = (await answer.json()) as {
        data: Day[]
        pagination: { next_cursor: string | null }
      }
      listed.push(...page.data)
      if (page.pagination.next_cursor === null) break
      cursor = `&cursor=${page.pagination.next_cursor}`
    }
    const command = ['parity', `venuec:${MARKET}`, '--start', '2026-09-20', '--end', '2026-09-30']
    const { out: cli } = await runCommand(command, { PRIORBOOK_URL: url, PRIORBOOK_KEY: key })
    return {
      days: await rows(`/v3/parity?venue=venuec&market=${MARKET}&${range}`),
      listed,
      csv: await (await get(`/v3/parity?${range}&format=csv`)).text(),
      cli,
      recount: recountParity(tape, 1000),
    }
  } finally {
    await server.close(500)
    access.close()
    await store.close()
  }
}
