import { describe, expect, it } from 'vitest'
import { GAP_REASONS, type Gap, type Micros } from '@priorbook/sdk/domain'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { BEGIN, SCRIPTED_VENUES } from '../../store/store-script.testing.ts'
import type { Store } from '../../store/store.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import { createBatches, KEYS, PATHS, readSeen, render } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

type Said = {
  readonly code: string
  readonly last_before?: { id: string } | null
  readonly token_id?: string
}

async function createStore(seed: number): Promise<{ store: Store; api: TestCaller }> {
  const store = createTapeFolder().open()
  const { batches } = createBatches(seed, 300)
  await Promise.all(batches.map((batch) => store.append(batch)))
  await store.seal()
  return { store, api: createTestCaller(BOOK_ROUTES, { store }) }
}

const noticesOf = (meta: Readonly<Record<string, unknown>>): readonly Said[] => {
  const { notice } = meta
  return notice === undefined ? [] : ((Array.isArray(notice) ? notice : [notice]) as Said[])
}

describe('the book at an instant', () => {
  it.each(SCRIPTED_VENUES)(
    'of %s is the last row received by then, or none with a reason',
    async (venue) => {
      const { store, api } = await createStore(31)
      const seen = await readSeen(store, venue)
      const gaps = new Map<string, readonly Gap[]>()
      for (const key of KEYS[venue]) gaps.set(key, await store.gaps({ venue, key }))
      const edges = [...gaps.values()].flat().flatMap(({ start, end }) => [start, end ?? start + 5])
      const times = [
        ...edges.flatMap((time) => [time - 1, time, time + 1]),
        ...seen.filter((_, index) => index % 9 === 0).map(({ received }) => received),
      ]
      let inGap = 0
      for (const at of times.filter((time) => time >= BEGIN)) {
        const { text, body } = await api.get(`${PATHS[venue]}/orderbook?at=${at}`)
        const parts = []
        const reasons: string[] = []
        for (const [lane, key] of KEYS[venue].entries()) {
          const row = seen.findLast((one) => one.lane === lane && one.received <= at)
          // The instant of an observation is not in the gap that begins with it.
          const gap = gaps
            .get(key)!
            .find(
              ({ start, end = Infinity }) =>
                (row === undefined ? start <= at : start < at) && at < end,
            )
          if (gap !== undefined) {
            reasons.push(gap.reason)
            inGap++
          } else if (row === undefined) reasons.push('before_capture')
          else parts.push(row.part)
        }
        expect(noticesOf(body.meta).map(({ code }) => code)).toEqual(reasons)
        const rows = parts.length === 0 ? 'null' : render(parts, venue, { ladders: true })
        const shown = venue === 'venuec' && parts.length > 0 ? `[${rows}]` : rows
        expect(text.startsWith(`{"data":${shown},"meta"`)).toBe(true)
      }
      expect(inGap).toBeGreaterThan(2)
    },
  )

  it('names the last row before a gap, and why nothing is known', async () => {
    const { store, api } = await createStore(32)
    const gap = (await store.gaps({ venue: 'venuea', key: '5001' })).find(
      ({ start, end = 0 }) => end - start > 10,
    )!
    const { body } = await api.get(`${PATHS.venuea}/orderbook?at=${gap.start + 5}`)
    expect(body.data).toBeNull()
    expect(noticesOf(body.meta)).toMatchObject([
      {
        code: gap.reason,
        message: GAP_REASONS[gap.reason],
        last_before: { id: `venuea:5001:${gap.afterSequence}`, sequence: gap.afterSequence },
      },
    ])
    expect(body.meta['gaps']).toHaveLength(1)
  })

  it('is unknown before the market opened, and in the future', async () => {
    const { api } = await createStore(33)
    const early = await api.get(`${PATHS.venueb}/orderbook?at=${BEGIN - 1}`)
    expect(early.body.data).toBeNull()
    expect(noticesOf(early.body.meta)).toMatchObject([
      { code: 'market_not_open', last_before: null },
    ])
    const late = await api.get(`${PATHS.venueb}/orderbook?at=2200-01-01T00:00:00Z`)
    expect(late.body.data).toBeNull()
    expect(noticesOf(late.body.meta)).toMatchObject([{ code: 'in_the_future' }])
  })
})

describe('the newest book', () => {
  it.each(SCRIPTED_VENUES)(
    'of %s is the last row, and says when something is missing since',
    async (venue) => {
      const { store, api } = await createStore(34)
      const seen = await readSeen(store, venue)
      const lasts = KEYS[venue].map((_, lane) => seen.findLast((row) => row.lane === lane)!)
      const expected = render(
        lasts.map(({ part }) => part),
        venue,
        { ladders: true },
      )
      const before = await api.get(`${PATHS[venue]}/orderbook/latest`)
      const shown = venue === 'venuec' ? `[${expected}]` : expected
      expect(before.text.startsWith(`{"data":${shown},"meta"`)).toBe(true)

      const key = KEYS[venue][0]!
      const position = (await store.appliedPosition(venue)) + 1
      const gap: Gap = {
        venue,
        scope: 'instrument',
        key,
        reason: 'disconnected',
        start: lasts[0]!.received as Micros,
        afterSequence: lasts[0]!.sequence,
        journal: position,
      }
      const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
      await store.append({ venue, position, ...maker, gaps: [gap] })
      const after = await api.get(`${PATHS[venue]}/orderbook/latest`)
      expect(after.text.startsWith(`{"data":${shown},"meta"`)).toBe(true)
      const said = noticesOf(after.body.meta)
      expect(said[0]).toMatchObject({ code: 'open_gap', start_time: expect.any(String) as string })
    },
  )

  it('is one a token of C, cut at the depth asked for, in lines and cells too', async () => {
    const { api } = await createStore(35)
    const { body } = await api.get(`${PATHS.venuec}/orderbook/latest?depth=1&number_format=string`)
    const books = body.data as { token_id: string; bids: { price: string[] } }[]
    expect(books.map(({ token_id: id }) => id)).toEqual(KEYS.venuec)
    expect(books.every(({ bids }) => bids.price.length <= 1)).toBe(true)
    const lines = await api.get(`${PATHS.venuec}/orderbook/latest?format=ndjson&outcome=No`)
    expect(lines.text.split('\n')[0]).toContain(`{"type":"book","id":"venuec:${KEYS.venuec[1]}:`)
    const cells = await api.get(`${PATHS.venuec}/orderbook/latest?format=csv`)
    expect(cells.text.split('\n')).toHaveLength(4)
  })

  it('of a plan with a window is not older than the window', async () => {
    const { store, api } = await createStore(36)
    const last = (await readSeen(store, 'venueb')).at(-1)!.received
    const grant = createTestGrant({ plan: 'explorer', windowStart: () => (last + 1) as Micros })
    for (const path of ['orderbook/latest', `orderbook?at=${last}`]) {
      const { body } = await api.get(`${PATHS.venueb}/${path}`, grant)
      expect(body.data).toBeNull()
      expect(noticesOf(body.meta)).toMatchObject([{ code: 'plan_window' }])
    }
  })
})
