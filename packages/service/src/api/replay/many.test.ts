import { describe, expect, it } from 'vitest'
import {
  toMicros,
  VENUES,
  type Instrument,
  type MarketRecord,
  type PriceTicks,
  type SizeUnits,
} from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { countOf } from '../../store/embedded/temp-folder.testing.ts'
import type { Store } from '../../store/store.ts'
import { createContext, hashIds, open, Recorded, settle } from './replay.testing.ts'
import { MAX_MARKETS } from './scope.ts'
import { ROW_BUDGET } from './timeline.ts'

const BEGIN = Date.UTC(2026, 7, 11) * 1000

/** Markets that trade at the same time, each with `rows` rows, some at equal times. */
async function createStore(markets: number, rows: number): Promise<Store> {
  const store = createTapeFolder().open()
  let journal = 0
  const names = Array.from({ length: markets }, (_, at) => `KXMANY-${String(at).padStart(4, '0')}`)
  const assemblers = names.map((name) => new BookAssembler(instrumentOf(name)))
  await store.append({
    ...BATCH,
    position: ++journal,
    revisions: names.map((name) => ({
      kind: 'market',
      received: toMicros(BEGIN - 1),
      journal,
      record: recordOf(name),
    })),
  })
  const step = 100
  for (let first = 0; first < rows; first += step) {
    const observations: Observation[] = []
    for (let row = first; row < Math.min(rows, first + step); row++) {
      journal++
      for (const [index, assembler] of assemblers.entries()) {
        const taken = assembler.take({
          kind: row === 0 ? 'snapshot' : 'change',
          instrument: instrumentOf(names[index]!),
          received: toMicros(BEGIN + row * 1000 + (index % 7)),
          journal,
          ...(row === 0
            ? { bids: [level(100 + index, 5)], asks: [level(9000, 5)] }
            : { changes: [{ ...level(200 + ((row * 7) % 900), row % 5), side: 'bid' }] }),
          signed: false,
        } as never)
        if ('violation' in taken) throw new Error(taken.detail)
        observations.push(taken)
      }
    }
    await store.append({ ...BATCH, position: journal, observations })
  }
  await store.seal()
  return store
}

const BATCH = { venue: 'venueb', origin: 'emulator', recorder: 'r1', normalizer: 1 } as const

function level(price: number, size: number): { price: PriceTicks; size: SizeUnits } {
  return { price: price as PriceTicks, size: (size * 100) as SizeUnits }
}

function instrumentOf(name: string): Instrument {
  return { venue: 'venueb', market: name, key: name }
}

function recordOf(marketId: string): MarketRecord {
  return {
    venue: 'venueb',
    marketId,
    seriesTicker: 'KXMANY',
    status: 'open',
    openTime: toMicros(BEGIN),
    outcomes: [{ label: 'Yes', index: 0 }],
    units: VENUES.venueb.units,
    native: {},
  }
}

describe('a replay of hundreds of markets at once', { timeout: 600_000 }, () => {
  it('holds a bounded number of rows and sends all of them in order', async () => {
    const [markets, rows] = [countOf(400, 100), 700]
    const store = await createStore(markets, rows)
    const out = new Recorded()
    const asked = { markets: [{ venue: 'venueb', series: 'KXMANY' }], mode: 'changes' } as const
    const replay = await open(createContext(store), asked, out)
    await replay.ended
    expect(replay.failure).toBeUndefined()
    expect(markets * rows).toBeGreaterThan(ROW_BUDGET)
    expect(replay.budget.peak).toBeGreaterThan(1000)
    expect(replay.budget.peak).toBeLessThanOrEqual(ROW_BUDGET)
    expect(replay.budget.held).toBe(0)
    const seen = out.of('snapshot', 'update')
    expect(seen).toHaveLength(markets * rows)
    expect(out.last).toMatchObject({ rows: markets * rows, ids_sha256: hashIds(seen) })
    const names = seen.map(({ row }) => `${String(row!['received_time'])} ${String(row!['id'])}`)
    // With sequences padded to four digits, the order of the texts is the order of the rows.
    const padded = names.map((name) => name.replace(/\d+$/, (digits) => digits.padStart(4, '0')))
    expect(padded.every((name, at) => at === 0 || padded[at - 1]! < name)).toBe(true)
    // Whole books are correct although pages are small.
    const full = new Recorded()
    const range = { start_time: String(BEGIN + 500_000), end_time: String(BEGIN + 520_000) }
    const whole = await open(createContext(store), { ...asked, mode: 'full', ...range }, full)
    await whole.ended
    const { key } = full.of('update').at(-1)!
    const rowsOfKey = full.of('snapshot', 'update').filter((one) => one.key === key)
    expect(rowsOfKey).toHaveLength(20)
    const book = new Map<number, number>([[(100 + Number(key!.slice(-4))) / 10_000, 5]])
    for (let row = 1; row < 520; row++) {
      const price = (200 + ((row * 7) % 900)) / 10_000
      if (row % 5 === 0) book.delete(price)
      else book.set(price, row % 5)
    }
    const { price, size } = rowsOfKey.at(-1)!.row!['bids'] as { price: number[]; size: number[] }
    const wanted = [...book].sort(([a], [b]) => b - a).slice(0, price.length)
    expect(price.map((value, at) => [value, size[at]])).toEqual(wanted)
  })

  it('releases its rows when it seeks and when it stops', async () => {
    const store = await createStore(20, 300)
    const out = new Recorded()
    let room = 500
    out.onMessage = () => --room !== 0
    const markets = [{ venue: 'venueb', series: 'KXMANY' }]
    const replay = await open(createContext(store), { markets }, out)
    while (!out.isHeld) await settle()
    expect(replay.budget.held).toBeGreaterThan(0)
    const { held } = replay.budget
    room = 500
    out.drain()
    replay.seek(toMicros(BEGIN + 100_000))
    while (!out.isHeld) await settle()
    expect(replay.budget.held).toBeLessThanOrEqual(held)
    replay.stop()
    await replay.ended
    expect(replay.budget.held).toBe(0)
  })

  it('is refused above the limit of markets', async () => {
    const store = createTapeFolder().open()
    await store.append({
      ...BATCH,
      position: 1,
      revisions: Array.from({ length: MAX_MARKETS + 1 }, (_, at) => ({
        kind: 'market',
        received: toMicros(BEGIN),
        journal: 1,
        record: recordOf(`KXMANY-${at}`),
      })),
    })
    const opened = open(createContext(store), { markets: [{ venue: 'venueb' }] }, new Recorded())
    await expect(opened).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: `a replay has at most ${MAX_MARKETS} markets`,
    })
  })
})
