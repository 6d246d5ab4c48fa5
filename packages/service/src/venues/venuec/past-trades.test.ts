import { toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import type { CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { HeldAnswers } from '../capture/held-answers.ts'
import type { TradesStep } from '../capture/history.ts'
import type { PatientRest } from '../capture/patient-rest.ts'
import type { RestCall } from '../capture/rest.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { PastTrades } from './past-trades.ts'

const CONDITION = '0xc0'
const START = 1_790_000_000
const OPEN = START + 600
/** A round that is listed, and trades, before its window begins. */
const record = {
  marketId: CONDITION,
  openTime: toMicros(OPEN * 1e6),
  createdTime: toMicros(START * 1e6),
} as MarketRecord

type Row = { readonly id: number; readonly second: number }

/** A list by offset that grows while it is read, in another order of each second at every call. */
class FakeList {
  rows: Row[] = []
  calls = 0
  maxOffset = Infinity
  pageCap = 500
  perCall = 0
  /** Gives the first page whatever the offset. */
  repeats = false
  /** Removes rows of the front between calls. */
  removed = 0
  readonly random: () => number
  now = START

  constructor(seed: number) {
    this.random = createRandom(seed)
  }

  add(second: number): void {
    this.rows.push({ id: this.rows.length, second })
  }

  page(offset: number, limit: number): Row[] | undefined {
    // A walk that does not end would hang the test.
    if (++this.calls > 500) throw new Error('too many calls')
    if (offset > this.maxOffset) return undefined
    const keys = new Map(this.rows.map((row) => [row, this.random()]))
    const sorted = this.rows.toSorted((a, b) => b.second - a.second || keys.get(a)! - keys.get(b)!)
    for (let at = 0; at < this.perCall; at++) this.add(this.now)
    if (this.removed > 0 && offset > 0) this.rows.splice(-this.removed, this.removed)
    const from = this.repeats ? 0 : offset
    return sorted.slice(from, from + Math.min(limit, this.pageCap))
  }
}

/** Walks a list and gives the rows that were journaled, in order, and the steps. */
async function walk(
  list: FakeList,
  since = 0,
  settled = START + 100_000,
  maxCalls?: number,
): Promise<{ ids: number[]; steps: TradesStep[]; requests: CaptureRequest[] }> {
  const normalizer = createVenueCNormalizer()
  const ids: number[] = []
  const requests: CaptureRequest[] = []
  const target = {
    answer: (request: CaptureRequest, received: number, _bytes: Uint8Array, value: unknown) => {
      requests.push(request)
      const reading = normalizer.answer(request, value, {
        received: toMicros(received),
        journal: 1,
      })
      expect(reading.problems).toEqual([])
      for (const event of reading.events) {
        if (event.kind === 'trade') ids.push(Number(event.tradeId.split('-')[0]!.slice(4)))
      }
      return reading
    },
  } as unknown as CaptureSink
  const held = new HeldAnswers(target)
  const rest = {
    send: ({ query }: RestCall) => {
      const rows = list.page(Number(query!['offset']), Number(query!['limit']))
      if (rows === undefined) return { ok: false, status: 400, why: 'max historical offset' }
      const value = rows.map(({ id, second }) => ({
        conditionId: CONDITION,
        asset: '123',
        side: 'BUY',
        price: 0.5,
        size: 1.5,
        timestamp: second,
        transactionHash: `0xaa${id}`,
      }))
      held.sink.answer({ kind: 'x' }, toMicros(1), new Uint8Array(), value)
      return { ok: true, value, reading: { events: [], problems: [] } }
    },
  } as unknown as PatientRest
  const now = (): Micros => toMicros((settled + 30) * 1e6)
  const bound = maxCalls === undefined ? {} : { maxCalls }
  const trades = new PastTrades({ rest, held, now, ...bound })
  const steps: TradesStep[] = []
  const signal = new AbortController().signal
  for await (const step of trades.walk(record, toMicros(since * 1e6), signal)) steps.push(step)
  return { ids, steps, requests }
}

const idsOf = (rows: readonly Row[]): number[] => rows.map(({ id }) => id).toSorted((a, b) => a - b)
const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b)

describe('the past trades of venue C', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'has each trade once, whatever shifts and reorders the list (seed %i)',
    async (seed) => {
      const list = new FakeList(seed + 1)
      const { random } = list
      const count = Math.floor(random() * 3000)
      let second = START
      for (let at = 0; at < count; at++) {
        if (random() < 0.1) second += Math.floor(random() * 4)
        list.add(second)
      }
      const settled = second + 1 - Math.floor(random() * 5)
      list.now = settled + Math.floor(random() * 10)
      list.perCall = Math.floor(random() * 30)
      list.pageCap = random() < 0.3 ? 100 + Math.floor(random() * 400) : 500
      const { ids, steps } = await walk(list, 0, settled)
      expect(steps.some(({ missing }) => missing !== undefined)).toBe(false)
      expect(sorted(ids)).toEqual(idsOf(list.rows.filter((row) => row.second < settled)))
      const seconds = ids.map((id) => list.rows[id]!.second)
      expect(seconds).toEqual(seconds.toSorted((a, b) => a - b))

      // A later run goes on where this one stopped, and takes nothing twice.
      const later = list.now + 20
      for (let at = 0; at < 700; at++) list.add(list.now + Math.floor(random() * 15))
      list.perCall = 0
      const next = await walk(list, settled, later)
      // The trades that were added all at once may be more than a page shows of their second.
      const crowded = next.steps.flatMap(({ missing }) => missing ?? [])
      expect(crowded.every(({ start }) => start === list.now * 1e6)).toBe(true)
      const isLost = (row: Row): boolean => crowded.length > 0 && row.second === list.now
      const wanted = list.rows.filter(
        (row) => row.second >= settled && row.second < later && !isLost(row),
      )
      expect(sorted(next.ids)).toEqual(idsOf(wanted))
    },
  )

  it('comes from a list that loses trades where it is read by offsets alone', () => {
    const list = new FakeList(7)
    for (let at = 0; at < 2000; at++) list.add(START + Math.floor(at / 40))
    const found = new Set<number>()
    for (let offset = 0; offset < 2000; offset += 500) {
      for (const { id } of list.page(offset, 500)!) found.add(id)
    }
    expect(found.size).toBeLessThan(2000)
  })

  it.each([true, false])(
    'ends after some calls and names what is left (repeats: %s)',
    async (repeats) => {
      const list = new FakeList(102)
      list.repeats = repeats
      for (let at = 0; at < 3000; at++) list.add(START + at)
      const { ids, steps } = await walk(list, 0, START + 3000, repeats ? undefined : 4)
      expect(list.calls).toBe(repeats ? 200 : 4)
      const [{ missing } = {}, last] = steps
      expect(missing).toMatchObject({
        start: START * 1e6,
        why: `a backfill makes at most ${list.calls} calls for the trades of a market`,
      })
      const end = missing!.end / 1e6
      expect(sorted(ids)).toEqual(idsOf(list.rows.filter(({ second }) => second >= end)))
      expect(ids.length).toBeGreaterThan(repeats ? 490 : 1900)
      expect(last).toEqual({ reached: (START + 3000) * 1e6 })
    },
  )

  it('names the span that lies beyond the last offset', async () => {
    const list = new FakeList(101)
    list.maxOffset = 1000
    for (let at = 0; at < 4000; at++) list.add(START + Math.floor(at / 3))
    const { ids, steps } = await walk(list)
    const [{ missing } = {}] = steps
    expect(missing).toMatchObject({ start: START * 1e6, why: expect.stringContaining('offset') })
    const end = missing!.end / 1e6
    expect(sorted(ids)).toEqual(idsOf(list.rows.filter(({ second }) => second >= end)))
    expect(ids.length).toBeGreaterThan(1300)
  })

  it('goes back where rows disappear from the front', async () => {
    const list = new FakeList(102)
    for (let at = 0; at < 2000; at++) list.add(START + Math.floor(at / 2))
    list.removed = 40
    const all = idsOf(list.rows)
    const { ids } = await walk(list)
    // Those that were removed may be there or not; of the others none is missing.
    const left = idsOf(list.rows)
    expect(left.filter((id) => !ids.includes(id))).toEqual([])
    expect(ids.every((id) => all.includes(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('names a second that has more trades than a page', async () => {
    const list = new FakeList(103)
    for (let at = 0; at < 20; at++) list.add(START + at)
    for (let at = 0; at < 1300; at++) list.add(START + 30)
    for (let at = 0; at < 700; at++) list.add(START + 40 + Math.floor(at / 20))
    const { ids, steps } = await walk(list)
    const missing = steps.flatMap((step) => (step.missing === undefined ? [] : [step.missing]))
    expect(missing).toMatchObject([{ start: (START + 30) * 1e6, end: (START + 31) * 1e6 }])
    expect(sorted(ids)).toEqual(idsOf(list.rows.filter(({ second }) => second !== START + 30)))
  })

  it('asks once more where no page was full, and not after that', async () => {
    const list = new FakeList(104)
    for (let at = 0; at < 10; at++) list.add(START + at)
    expect((await walk(list)).ids).toHaveLength(10)
    expect(list.calls).toBe(2)
    expect((await walk(new FakeList(105))).steps).toHaveLength(1)
  })
})
