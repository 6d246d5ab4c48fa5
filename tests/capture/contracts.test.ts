import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  ConsolidatedJson,
  ContractJson,
  GapJson,
  SpreadJson,
} from '../../packages/sdk/src/wire/index.ts'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { createRandom } from '../../packages/service/src/lib/random.testing.ts'
import {
  naiveEdge,
  naiveMerge,
  printNet,
  trueRounds,
  type ServedBook,
  type TrueRound,
} from './contract-oracle.ts'
import { pause, start, type Running } from './harness.ts'

const FULL = process.env['PRIORBOOK_FULL'] === '1'
// Windows of whole seconds, as venue B writes them: 15 s and 5 s.
const SPEED = 60
const ROUNDS = FULL ? 200 : 40
const INSTANTS = FULL ? 10_000 : 400
const RATES = FULL ? {} : { changes: 1 }
// A fault every few seconds makes gaps in the middle of rounds.
const FAULT_MS = 6000
const SETTLED_MS = 6000
// Minutes on a busy machine.
const TIMEOUT_MS = 900_000

type Json = { readonly data: unknown; readonly pagination: { readonly next_cursor: string | null } }

describe('rounds of three emulated venues', () => {
  let run: Running
  let rounds: readonly TrueRound[]
  let contracts: readonly ContractJson[]
  let get: (path: string) => Promise<Json>
  let close: () => Promise<void>

  beforeAll(async () => {
    const env = { PRIORBOOK_VENUEC_ASSETS: 'BTC,ETH,BNB' }
    run = await start({ seed: 31, speed: SPEED, rates: RATES, env })
    const begun = Date.now()
    rounds = []
    for (let turn = 0; rounds.length < ROUNDS; turn++) {
      const venue = (['venueb', 'venuec', 'venuea'] as const)[turn % 3]!
      run.emulator.inject({ fault: { kind: 'disconnect' }, target: { venue } })
      await pause(FAULT_MS)
      rounds = await endedRounds(run, begun)
    }
    await run.stop()
    const server = serve(run)
    get = server.get
    close = server.close
    contracts = await readAll<ContractJson>(get, '/v3/contracts?limit=100')
  }, TIMEOUT_MS)

  afterAll(async () => {
    await close()
    await run.destroy()
  })

  it(`are matched without a wrong and without a missing pair (${ROUNDS} rounds)`, async () => {
    const byKey = new Map<string, TrueRound>()
    for (const round of rounds) {
      for (const [venue, keys] of round.keys)
        for (const key of keys) byKey.set(`${venue}:${key}`, round)
    }
    // A wrong pair: members that the emulator says are of different rounds.
    for (const { members } of contracts) {
      const found = members.map(
        ({ venue, market_id: id, yes }) =>
          byKey.get(`${venue}:${yes.token_id ?? id}`) ?? byKey.get(`${venue}:${id}`),
      )
      const known = found.filter((round) => round !== undefined)
      expect(new Set(known).size).toBeLessThanOrEqual(1)
    }
    // A missing pair: two recorded markets of one round that are not in one contract.
    const contractOf = new Map<string, string>()
    for (const { id, members } of contracts) {
      for (const { venue, market_id: market } of members) contractOf.set(`${venue}:${market}`, id)
    }
    for (const round of rounds) {
      const recorded = await recordedMarkets(run, round)
      expect(new Set(recorded.map((name) => contractOf.get(name))).size).toBe(1)
      const id = contractOf.get(recorded[0]!)
      const contract = contracts.find((one) => one.id === id)!
      expect(contract).toMatchObject({ asset: round.asset, window: round.window, kind: 'up_down' })
      expect(Date.parse(String(contract.opens))).toBe(round.opens)
      expect(Date.parse(String(contract.closes))).toBe(round.closes)
      expect(contract.members.length).toBe(recorded.length)
      // Never silently equal: these three venues differ in sources and payouts.
      expect(contract.comparison).toBe('equivalent_except')
    }
    const sizes = rounds.map(({ keys }) => keys.size)
    console.log(
      `${rounds.length} rounds, ${sizes.filter((size) => size === 3).length} at all venues`,
    )
    expect(rounds.length).toBeGreaterThanOrEqual(ROUNDS)
    expect(sizes).toContain(3)
  })

  it(
    `have a consolidated book that a naive merge gives too (${INSTANTS} instants)`,
    async () => {
      const random = createRandom(77)
      const chosen = matched(contracts, rounds)
      let [compared, levels, missing] = [0, 0, 0]
      for (let turn = 0; turn < INSTANTS; turn++) {
        const contract = chosen[Math.floor(random() * chosen.length)]!
        // Before the window some members have no book yet; a busy recorder finds them later still.
        const at = turn % 10 === 0 ? instantBefore(contract, random) : instantIn(contract, random)
        const path = `/v3/contracts/${contract.id}/consolidated?at=${at}&depth=10000&number_format=string`
        const { asks, bids, members } = (await get(path)).data as ConsolidatedJson
        const books = await booksAt(get, contract, at)
        expect(members.filter((one) => one.is_included).map(({ venue }) => venue)).toEqual([
          ...books.keys(),
        ])
        for (const [side, shown] of [
          ['asks', asks],
          ['bids', bids],
        ] as const) {
          const naive = naiveMerge(books, side)
          const lines = naive.map(
            ({ venue, price, net, size }) => `${venue} ${price} ${printNet(net)} ${size}`,
          )
          const served = shown.venue.map(
            (venue, index) =>
              `${venue} ${shown.price[index]} ${shown.net_price[index]} ${shown.native_size[index]}`,
          )
          expect(served).toEqual(lines)
          levels += lines.length
        }
        missing += members.length - books.size
        compared++
      }
      console.log(`${compared} instants, ${levels} levels, ${missing} books were missing`)
      // A busy recorder finds many of these short rounds late; where two books are known, they have dozens of levels.
      expect(levels).toBeGreaterThan(INSTANTS * 2)
      expect(missing).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )

  it(
    'have spreads where hand-made prices say so, and never inside a gap',
    async () => {
      const random = createRandom(78)
      let [spans, checked, gapsMet] = [0, 0, 0]
      for (const contract of matched(contracts, rounds)) {
        const range = `start_time=${micros(contract.opens)}&end_time=${micros(contract.closes)}`
        const path = `/v3/contracts/${contract.id}/spreads?number_format=string&limit=1000&${range}`
        const spreads = await readAll<SpreadJson>(get, path)
        spans += spreads.length
        const gaps = new Map<string, readonly GapJson[]>()
        for (const { venue, market_id: market } of contract.members) {
          const own = await readAll<GapJson>(
            get,
            `/v3/gaps?venue=${venue}&market=${market}&limit=1000&${range}`,
          )
          gaps.set(venue, own)
          gapsMet += own.length
        }
        for (const { yes, no, start_time: from, end_time: to } of spreads) {
          for (const { venue } of [yes, no]) {
            const inside = gaps.get(venue)!.filter((gap) => {
              // Of a token's market, the gaps of the other token do not matter.
              if (
                gap.key !== null &&
                gap.scope === 'instrument' &&
                !isKeyOf(contract, venue, gap.key)
              )
                return false
              return (
                micros(gap.start_time) < micros(to) && micros(gap.end_time ?? to) > micros(from)
              )
            })
            expect(inside).toEqual([])
          }
        }
        for (let turn = 0; turn < 3; turn++) {
          const at = instantIn(contract, random)
          const books = await booksAt(get, contract, at)
          for (const { venue: yes } of contract.members) {
            for (const { venue: no } of contract.members) {
              if (yes === no) continue
              const edge = naiveEdge([yes, books.get(yes)], [no, books.get(no)])
              const around = spreads.filter(
                (one) =>
                  one.yes.venue === yes &&
                  one.no.venue === no &&
                  micros(one.start_time) <= at &&
                  at < micros(one.end_time),
              )
              expect([contract.id, at, yes, no, around.length]).toEqual([
                contract.id,
                at,
                yes,
                no,
                edge !== undefined && edge > 0n ? 1 : 0,
              ])
              checked++
            }
          }
        }
        for (const one of spreads.slice(0, 5)) {
          const at = micros(one.best_time)
          const books = await booksAt(get, contract, at)
          const edge = naiveEdge(
            [one.yes.venue, books.get(one.yes.venue)],
            [one.no.venue, books.get(one.no.venue)],
          )
          // Several rows may share the microsecond; the book at an instant is that of the last one.
          const shown = edge === undefined ? 0 : Number(printNet(edge))
          expect(shown).toBeLessThanOrEqual(Number(one.best_edge))
        }
      }
      console.log(`${spans} spreads, ${checked} pairs at instants, ${gapsMet} gaps`)
      expect(spans).toBeGreaterThan(0)
      expect(gapsMet).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )
})

function serve({ store }: Running) {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-contracts-'))
  const access = openAccess(home)
  const server = createApiServer({ store, access })
  const { ask, close } = createAsker(server.handle)
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  return {
    get: async (path: string): Promise<Json> => {
      const answer = await ask(path, { key })
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
      return answer.json() as Json
    },
    close: async (): Promise<void> => {
      close()
      await server.close(500)
      access.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function readAll<Row>(
  get: (path: string) => Promise<Json>,
  path: string,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let cursor = ''; ;) {
    const { data, pagination } = await get(`${path}${cursor}`)
    rows.push(...(data as Row[]))
    if (pagination.next_cursor === null) return rows
    cursor = `&cursor=${pagination.next_cursor}`
  }
}

// Rounds that have begun and ended while the recorder ran, and that it found at two venues or more: a fast
// round can be over before a busy recorder has seen it.
async function endedRounds(run: Running, begun: number): Promise<readonly TrueRound[]> {
  const rounds: TrueRound[] = []
  for (const round of trueRounds(run.emulator.truth.entries)) {
    const { opens, closes } = round
    if (opens < begun + SETTLED_MS || closes > Date.now() - SETTLED_MS) continue
    if ((await recordedMarkets(run, round)).length > 1) rounds.push(round)
  }
  return rounds
}

// The markets of a round that the service has recorded, by the keys of the emulator.
async function recordedMarkets({ store }: Running, round: TrueRound): Promise<readonly string[]> {
  const names: string[] = []
  for (const [venue, keys] of round.keys) {
    const where = venue as 'venuea'
    const market = await store.market(where, keys[0]!)
    const facts =
      market === undefined ? await store.instrument({ venue: where, key: keys[0]! }) : undefined
    const id = market?.record.marketId ?? facts?.instrument.market
    const record = id === undefined ? undefined : (await store.market(where, id))?.record
    // Without its times or outcomes a record does not tell what the market is.
    if (record?.closeTime !== undefined && record.outcomes.length > 0) names.push(`${venue}:${id}`)
  }
  return names
}

function matched(
  contracts: readonly ContractJson[],
  rounds: readonly TrueRound[],
): readonly ContractJson[] {
  const wanted = new Set(rounds.map(({ asset, window, closes }) => `${asset} ${window} ${closes}`))
  return contracts.filter(
    ({ asset, window, closes, kind }) =>
      kind === 'up_down' && wanted.has(`${asset} ${window} ${Date.parse(String(closes))}`),
  )
}

function instantIn({ opens, closes }: ContractJson, random: () => number): number {
  const [from, to] = [micros(opens), micros(closes)]
  return Math.floor(from + random() * (to - from))
}

function instantBefore(contract: ContractJson, random: () => number): number {
  const [from, to] = [micros(contract.opens), micros(contract.closes)]
  return Math.floor(from - (1 + random()) * 2 * (to - from))
}

function micros(time: string | number | null): number {
  const text = String(time)
  return Date.parse(`${text.slice(0, 19)}Z`) * 1000 + Number(text.slice(20, 26))
}

function isKeyOf({ members }: ContractJson, venue: string, key: string): boolean {
  const own = members.find((member) => member.venue === venue)!
  return key === own.market_id || key === own.yes.token_id
}

// The books of Yes as the routes of the markets serve them; members inside a gap are left out.
async function booksAt(
  get: (path: string) => Promise<Json>,
  { members }: ContractJson,
  at: number,
): Promise<ReadonlyMap<string, ServedBook>> {
  const books = new Map<string, ServedBook>()
  for (const { venue, address, yes } of members) {
    const { data } = await get(`${address}/orderbook?at=${at}&number_format=string`)
    const list = (Array.isArray(data) ? data : data === null ? [] : [data]) as (ServedBook & {
      readonly token_id: string | null
    })[]
    const own = list.length > 1 ? list.find((one) => one.token_id === yes.token_id) : list[0]
    const isYes = own !== undefined && (!Array.isArray(data) || own.token_id === yes.token_id)
    if (isYes) books.set(venue, own)
  }
  return books
}
