import { describe, expect, it } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { Problem, type ProblemCode } from '@priorbook/sdk/wire'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { BEGIN, createRecord } from '../../store/store-script.testing.ts'
import type { Store } from '../../store/store.ts'
import { createTestCaller, createTestGrant, type TestCaller } from '../caller.testing.ts'
import { createBatches, KEYS, PATHS, readSeen, walk } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

async function createStore(): Promise<{ store: Store; api: TestCaller }> {
  const store = createTapeFolder().open()
  const { batches } = createBatches(51, 150)
  await Promise.all(batches.map((batch) => store.append(batch)))
  return { store, api: createTestCaller(BOOK_ROUTES, { store }) }
}

describe('a wrong request', () => {
  it('is refused with what is wrong', async () => {
    const { api } = await createStore()
    const cases: readonly (readonly [query: string, code: ProblemCode, param: string])[] = [
      ...['0', '1001', '-1', '1.5', 'x', '1e2', ''].map(
        (limit) => [`limit=${limit}`, 'invalid_parameter', 'limit'] as const,
      ),
      ['order=up', 'invalid_parameter', 'order'],
      ['clock=venue', 'invalid_parameter', 'clock'],
      ['cursor=x', 'invalid_cursor', 'cursor'],
      ['number_format=float', 'invalid_parameter', 'number_format'],
      ['time_format=unix', 'invalid_parameter', 'time_format'],
      ['format=xml', 'invalid_parameter', 'format'],
      ['start_time=yesterday', 'invalid_parameter', 'start_time'],
      ['start_time=178641091', 'invalid_parameter', 'start_time'],
      ['end_time=2026-02-30T00:00:00Z', 'invalid_parameter', 'end_time'],
      ['known_at=2026-08', 'invalid_parameter', 'known_at'],
      ['start_time=1786410915000&end_time=1786410915000', 'invalid_range', 'end_time'],
      ['start_time=1786410915001&end_time=1786410915000', 'invalid_range', 'end_time'],
      ['nonsense=1', 'unknown_parameter', 'nonsense'],
      ['limit=1&limit=2', 'invalid_parameter', 'limit'],
    ]
    const onlySnapshots: typeof cases = [
      ['include_orderbook=2', 'invalid_parameter', 'include_orderbook'],
      ['include_orderbook=Yes', 'invalid_parameter', 'include_orderbook'],
      ['include_orderbook=', 'invalid_parameter', 'include_orderbook'],
      ['depth=0', 'invalid_parameter', 'depth'],
      ['interval=2m', 'invalid_parameter', 'interval'],
      ['interval=1M', 'invalid_parameter', 'interval'],
      ['interval=1m&clock=source', 'invalid_parameter', 'clock'],
    ]
    for (const path of Object.values(PATHS)) {
      for (const [query, code, param] of [...cases, ...onlySnapshots]) {
        const { code: found, fields } = await api.problem(`${path}/snapshots?${query}`)
        expect([query, found, fields.param]).toEqual([query, code, param])
      }
      for (const [query, code] of cases) {
        expect((await api.problem(`${path}/changes?${query}`)).code).toBe(code)
      }
      for (const [query] of onlySnapshots.slice(0, -1)) {
        expect((await api.problem(`${path}/changes?${query}`)).code).toBe('unknown_parameter')
      }
      expect((await api.problem(`${path}/orderbook`)).fields.param).toBe('at')
      expect((await api.problem(`${path}/orderbook?at=noon`)).fields.param).toBe('at')
      expect((await api.problem(`${path}/orderbook/latest?depth=x`)).fields.param).toBe('depth')
    }
  })

  it('for a token or an outcome that the market does not have names those it has', async () => {
    const { api } = await createStore()
    const token = await api.problem(`${PATHS.venuec}/snapshots?token_id=12`)
    expect(token.fields).toMatchObject({ param: 'token_id', allowed: KEYS.venuec })
    const outcome = await api.problem(`${PATHS.venuec}/orderbook/latest?outcome=Maybe`)
    expect(outcome.fields).toMatchObject({ param: 'outcome', allowed: ['Yes', 'No'] })
    const elsewhere = await api.problem(`${PATHS.venueb}/snapshots?outcome=Yes`)
    expect(elsewhere.code).toBe('unknown_parameter')
  })

  it('for a market that is not recorded says so, with the way to the right one', async () => {
    const { store, api } = await createStore()
    const record = createRecord({ venue: 'venuec', market: '0xabc' }, '0', { asset: 'ETH' })
    const position = (await store.appliedPosition('venuec')) + 1
    const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    const received = BEGIN as Micros
    const revisions = [{ kind: 'market' as const, received, journal: position, record }]
    await store.append({ venue: 'venuec', position, ...maker, revisions })
    for (const rest of ['snapshots', 'changes', 'orderbook/latest', `orderbook?at=${BEGIN}`]) {
      const unknown = await api.problem(`/v3/venueb/KXNONE/${rest}`)
      expect(unknown.code).toBe('unknown_market')
      const byToken = await api.problem(`/v3/eth/markets/${KEYS.venuec[0]}/${rest}`)
      expect(byToken.code).toBe('unknown_market')
      expect(byToken.fields.hint).toContain('0xc0ffee')
      const wrongAsset = await api.problem(`/v3/btc/markets/0xabc/${rest}`)
      expect(wrongAsset.code).toBe('unknown_market')
      expect(wrongAsset.fields.hint).toContain('/v3/eth/markets/0xabc')
      const noAsset = await api.problem(`/v3/gold/markets/0xdef/${rest}`)
      expect(noAsset.code).toBe('unknown_asset')
    }
  })

  it('of a plan without the venue is refused before the market is looked for', async () => {
    const { api } = await createStore()
    const grant = createTestGrant({
      requireVenue: () => {
        throw new Problem('plan_required', 'not in the plan', { plan: 'quant' })
      },
    })
    for (const id of ['5001', 'nothing']) {
      const { code } = await api.problem(`/v3/venuea-prediction/${id}/snapshots`, grant)
      expect(code).toBe('plan_required')
    }
  })
})

describe('the envelope of a page', () => {
  it('explains an empty range', async () => {
    const { store, api } = await createStore()
    const seen = await readSeen(store, 'venuea')
    const [first, last] = [seen[0]!.received, seen.at(-1)!.received]
    const cases = [
      [`end_time=${BEGIN}`, 'market_not_open'],
      [`start_time=${BEGIN}&end_time=${BEGIN + 1}`, 'before_capture'],
      [`start_time=${Math.max(last, BEGIN + 86_400_000_000) + 9e9}`, 'market_closed'],
    ] as const
    expect(first).toBeGreaterThan(BEGIN)
    for (const [query, code] of cases) {
      const { body } = await api.get(`${PATHS.venuea}/snapshots?${query}`)
      expect(body).toMatchObject({ data: [], meta: { notice: { code }, receipt: { rows: 0 } } })
      expect(body.pagination).toEqual({ next_cursor: null, has_more: false })
    }
  })

  it('cuts rows at the window of a plan, and says so', async () => {
    const { store, api } = await createStore()
    const seen = await readSeen(store, 'venueb')
    const window = seen[60]!.received
    const grant = createTestGrant({ plan: 'explorer', windowStart: () => window as Micros })
    const own: TestCaller = { ...api, get: (url) => api.get(url, grant) }
    for (const order of ['asc', 'desc']) {
      const pages = await walk(own, `${PATHS.venueb}/snapshots?order=${order}`, [50])
      expect(pages.flatMap(({ ids }) => ids)).toHaveLength(
        seen.filter(({ received }) => received >= window).length,
      )
      expect(pages[0]!.meta).toMatchObject({ notice: { code: 'plan_window' } })
    }
    const all = await api.get(`${PATHS.venueb}/snapshots?limit=5`)
    const cursor = all.body.pagination.next_cursor!
    // A cursor of a wider plan does not open the narrow one.
    const rest = await walk(own, `${PATHS.venueb}/snapshots`, [1000], { cursor })
    const first = Number(rest[0]!.ids[0]!.split(':')[2])
    expect(first).toBe(seen[60]!.sequence)
    const outside = await own.get(`${PATHS.venueb}/snapshots?end_time=${window}`)
    expect(outside.body).toMatchObject({ data: [], meta: { notice: { code: 'plan_window' } } })
  })

  it('shows ladders by default where the document does', async () => {
    const { api } = await createStore()
    for (const [venue, has] of [
      ['venuea', true],
      ['venueb', false],
      ['venuec', false],
    ] as const) {
      const { body } = await api.get(`${PATHS[venue]}/snapshots?limit=1`)
      expect('bids' in (body.data as object[])[0]!).toBe(has)
    }
    const { body } = await api.get(`${PATHS.venueb}/snapshots?include_orderbook=true&limit=1`)
    expect((body.data as object[])[0]).toMatchObject({ yes: {}, no: {}, bids: {}, asks: {} })
  })

  it('carries the market as known at its last row', async () => {
    const { store, api } = await createStore()
    const pages = await walk(api, `${PATHS.venueb}/snapshots?time_format=epoch_us`, [11])
    const key = KEYS.venueb[0]!
    const volumes = new Set<unknown>()
    for (const { rows, meta } of pages) {
      const last = (JSON.parse(`[${rows}]`) as { received_time: number }[]).at(-1)!
      const state = await store.market('venueb', key, last.received_time)
      const market = meta['market'] as { volume: number; revision_time: number }
      expect([String(market.volume), market.revision_time]).toEqual([
        state!.record.volume,
        state!.knownAt,
      ])
      volumes.add(market.volume)
    }
    expect(volumes.size).toBeGreaterThan(2)
  })

  it('tells what was known at a time, and no more', async () => {
    const { store, api } = await createStore()
    const seen = await readSeen(store, 'venuea')
    const gaps = await store.gaps({ venue: 'venuea', key: '5001' })
    const gap = gaps.find(({ start, end = 0 }) => end - start > 10)!
    const at = gap.start + 5
    const pages = await walk(
      api,
      `${PATHS.venuea}/snapshots?known_at=${at}&time_format=epoch_us`,
      [20],
    )
    expect(pages.flatMap(({ ids }) => ids)).toHaveLength(
      seen.filter(({ received }) => received <= at).length,
    )
    const told = pages
      .flatMap((page) => page.gaps)
      .map((text) => JSON.parse(text) as { start_time: number; end_time: number | null })
    expect(told).toHaveLength(gaps.filter(({ start }) => start <= at).length)
    expect(told.find(({ start_time: start }) => start === gap.start)!.end_time).toBeNull()
  })

  it('is final only when nothing can come into it', async () => {
    const { store, api } = await createStore()
    const seen = await readSeen(store, 'venuea')
    const isFinal = async (url: string): Promise<boolean> => {
      const { answer } = await api.get(`${PATHS.venuea}/${url}`)
      return answer.kind !== 'stream' && answer.isFinal === true
    }
    // Rows 12 to 20 without an open gap among them.
    const [start, end] = [seen[12]!.received, seen[20]!.received + 1]
    expect(await isFinal(`snapshots?start_time=${start}&end_time=${end}`)).toBe(true)
    expect(await isFinal(`snapshots?start_time=${start}&limit=3`)).toBe(false)
    const last = seen.at(-1)!.received
    expect(await isFinal(`snapshots?start_time=${start}&end_time=${last + 1}&limit=1000`)).toBe(
      false,
    )
    expect(await isFinal('orderbook/latest')).toBe(false)
    expect(await isFinal(`orderbook?at=${last}`)).toBe(false)
    const page = `${PATHS.venuea}/snapshots?end_time=${end}&limit=3`
    const twice = [await api.get(page), await api.get(page)].map(({ text }) => text)
    expect(twice[0]).toBe(twice[1])
    const soon = createTestCaller(BOOK_ROUTES, { store, now: () => (end + 1) as Micros })
    const { answer } = await soon.get(
      `${PATHS.venuea}/snapshots?start_time=${start}&end_time=${end}`,
    )
    expect(answer).toMatchObject({ isFinal: false })
  })
})
