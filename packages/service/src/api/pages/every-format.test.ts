import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Gap } from '@priorbook/sdk/domain'
import { countIds } from '../../rows/receipt.testing.ts'
import type { AppendBatch } from '../../store/store.ts'
import { createTestServer } from '../server.testing.ts'
import {
  A_MARKET,
  A_TOKENS,
  at,
  B_MARKET,
  C_MARKET,
  createCatalogueStore,
} from './fixture.testing.ts'

type Row = Readonly<Record<string, unknown>>

const A = `/v3/venuea-prediction/${A_MARKET}`
const B = `/v3/venueb/${B_MARKET}`
const C = `/v3/btc/markets/${C_MARKET}`

const gapOfA = (reason: Gap['reason'], start: number, end: number): Gap => ({
  venue: 'venuea',
  scope: 'instrument',
  key: A_MARKET,
  reason,
  start: at(start),
  end: at(end),
  afterSequence: 3,
  journal: 1500 + start,
})

/** A recorder that was down from 121 s to 181 s, a book that failed its checks, a socket that closed. */
const ADDED = [
  gapOfA('rejected', 61, 70),
  gapOfA('disconnected', 50, 65),
  gapOfA('recorder_down', 121, 181),
  gapOfA('venue_silent', 190, 230),
]

async function server(more: Pick<AppendBatch, 'gaps' | 'facts'> = {}) {
  const store = await createCatalogueStore()
  await store.append({
    venue: 'venuea',
    position: 2000,
    origin: 'emulator',
    recorder: 'r1',
    normalizer: 1,
    gaps: ADDED,
    ...more,
  })
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const key = test.keyOf('unlimited')
  const ask = (url: string) => test.ask(url, { key })
  return {
    ask,
    json: async (url: string) => {
      const { status, text } = await ask(url)
      expect([url, status]).toEqual([url, 200])
      return JSON.parse(text) as {
        data: Row[]
        meta: { gaps: Row[]; notice?: Row; receipt?: Row }
        pagination: { next_cursor: string | null }
      }
    },
    lines: async (url: string): Promise<Row[]> => {
      const { text } = await ask(`${url}${url.includes('?') ? '&' : '?'}format=ndjson`)
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Row)
    },
  }
}

describe('gaps of series', () => {
  it('are those that also kept samples from being recorded', async () => {
    const { json } = await server()
    const { meta } = await json(`${A}/timeseries?metric=chance`)
    // A refused book says nothing of samples; one arrived while the socket was closed.
    expect(meta.gaps.map((gap) => gap['reason'])).toEqual([
      'recorder_down',
      'venue_silent',
      'market_closed',
    ])
    const books = await json(`${A}/snapshots`)
    expect(books.meta.gaps).toEqual(expect.arrayContaining(meta.gaps))
    const one = await json(`${A}/timeseries?metric=last_trade&outcome=Up`)
    expect(one.meta.gaps).toEqual(meta.gaps)
  })

  it('explain an empty range', async () => {
    const { json } = await server()
    const { data, meta } = await json(
      `${A}/timeseries?metric=price&start_time=${at(130)}&end_time=${at(170)}`,
    )
    expect([data, meta.notice]).toMatchObject([[], { code: 'recorder_down' }])
  })

  it('stand once on the pages of a walk, in both orders', async () => {
    const { json } = await server()
    for (const order of ['asc', 'desc']) {
      const url = `${A}/timeseries?metric=price&limit=3&order=${order}`
      const gaps: unknown[] = []
      let receipt: Row | undefined
      for (let next: string | null = '', pages = 0; next !== null && pages < 10; pages++) {
        const page = await json(next === '' ? url : `${url}&cursor=${next}`)
        gaps.push(...page.meta.gaps.map((gap) => gap['reason']))
        next = page.pagination.next_cursor
        receipt = page.meta.receipt
      }
      const expected = ['recorder_down', 'venue_silent', 'market_closed']
      expect(gaps).toEqual(order === 'asc' ? expected : expected.toReversed())
      expect(receipt).toMatchObject({ rows: 10, gaps: 3 })
    }
  })

  it('are in downloads too', async () => {
    const { ask } = await server()
    const file = await ask(
      `/v3/bulk?venue=venuea&market_id=${A_MARKET}&dataset=samples&metric=chance&format=ndjson`,
    )
    const lines = file.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
    const kinds = lines.map((line) => (line['type'] === 'gap' ? line['reason'] : line['type']))
    expect(kinds.filter((kind) => kind !== 'sample').slice(0, -1)).toEqual([
      'recorder_down',
      'venue_silent',
      'market_closed',
    ])
    expect(kinds.indexOf('recorder_down')).toBe(6)
  })
})

describe('NDJSON', () => {
  it.each([
    ['trades', `${B}/trades`, 'trade'],
    ['samples', `${A}/timeseries?metric=chance`, 'sample'],
    ['books', `${B}/snapshots`, 'book'],
    ['changes', `${B}/changes`, 'changes'],
  ])('has the gaps of %s between the rows where they belong', async (_, url, type) => {
    const { lines } = await server()
    for (const order of ['asc', 'desc']) {
      const all = await lines(`${url}${url.includes('?') ? '&' : '?'}order=${order}`)
      const placed = order === 'asc' ? all : all.toReversed()
      const rows = placed.filter((line) => line['type'] === type || line['type'] === 'gap')
      const gaps = rows.filter((line) => line['type'] === 'gap')
      expect(gaps.length).toBeGreaterThan(0)
      for (const gap of gaps) {
        const place = rows.indexOf(gap)
        const timeOf = (row: Row) => String(row['received_time'] ?? row['start_time'])
        for (const row of rows.slice(0, place)) {
          expect(timeOf(row) <= String(gap['start_time'])).toBe(true)
        }
        for (const row of rows.slice(place + 1)) {
          expect(timeOf(row) >= String(gap['start_time'])).toBe(true)
        }
      }
      expect(all.at(-1)).toMatchObject({ type: 'receipt' })
    }
  })

  it('carries the notice of an empty answer', async () => {
    const { lines } = await server()
    const cases = [
      [`${A}/trades`, 'trades_not_reconstructed'],
      [`${B}/trades?end_time=2026-08-05T10:00:00Z`, 'before_capture'],
      [`${B}/snapshots?end_time=2026-08-05T10:00:00Z`, 'market_not_open'],
      [`${B}/timeseries?metric=chance`, 'no_samples_of_venue'],
      ['/v3/gaps?end_time=2026-08-05T10:00:00Z', 'no_gaps'],
      ['/v3/markets?q=nothing', 'no_markets'],
      ['/v3/venueb/markets?series=NONE', 'no_markets'],
      [`${B}/revisions?end_time=2026-08-05T10:00:00Z`, 'no_rows_in_range'],
      [`${B}/orderbook?at=2026-08-05T12:00:35Z`, 'disconnected'],
    ] as const
    for (const [url, code] of cases) {
      const notice = (await lines(url)).find((line) => line['type'] === 'notice')
      expect([url, notice]).toMatchObject([url, { code }])
    }
  })
})

describe('CSV', () => {
  it('has gaps, notices and the receipt in headers, and names the file of its gaps', async () => {
    const { ask, json } = await server()
    for (const url of [
      `${A}/timeseries?metric=chance`,
      `${A}/snapshots?limit=1000`,
      `${B}/trades?limit=1000`,
      `${C}/trades?limit=1000`,
      `${B}/changes?limit=1000`,
    ]) {
      const { meta } = await json(url)
      const csv = await ask(`${url}&format=csv`)
      expect([url, csv.headers['priorbook-gaps']]).toEqual([url, String(meta.gaps.length)])
      expect(JSON.parse(csv.headers['priorbook-receipt']!)).toEqual(meta.receipt)
      const file = /<([^>]+)>; rel="gaps"/.exec(csv.headers['link'] ?? '')?.[1]
      const { text } = await ask(file!)
      const [header, ...rows] = text.trim().split('\n')
      expect(header).toMatch(/^venue,scope,key,reason,start_time,end_time/)
      for (const gap of meta.gaps) {
        expect(
          rows.some((row) =>
            row.includes(`,${String(gap['reason'])},${String(gap['start_time'])},`),
          ),
        ).toBe(true)
      }
    }
    const empty = await ask(`${A}/trades?format=csv`)
    expect(JSON.parse(empty.headers['priorbook-notice']!)).toMatchObject([
      { code: 'trades_not_reconstructed' },
    ])
    expect(empty.headers['priorbook-gaps']).toBe('0')
    expect(empty.headers['link']).toBeUndefined()
  })

  it('names files of all gaps, also of those that are not gaps of books', async () => {
    const { ask, json } = await server({
      facts: { 'feed:venuea:started': at(0) },
      gaps: [
        { ...gapOfA('disconnected', 20, 40), key: 'chain' },
        { ...gapOfA('disconnected', 5000, 5010), key: 'chain' },
        { ...gapOfA('retention', 1, 10), afterSequence: 0 },
        { ...gapOfA('corrupt', 150, 150), afterSequence: 4 },
      ],
    })
    const { meta } = await json(`${A}/trades`)
    const gaps = meta.gaps.map(({ key, reason }) => [key, reason])
    // The market did not trade in the second gap of the chain.
    expect(gaps).toEqual([
      [A_MARKET, 'retention'],
      ['chain', 'disconnected'],
      [A_MARKET, 'corrupt'],
    ])
    const { headers } = await ask(`${A}/trades?format=csv`)
    expect(headers['priorbook-gaps']).toBe('3')
    const files = [...(headers['link'] ?? '').matchAll(/<([^>]+)>; rel="gaps"/g)]
    const listed = await Promise.all(files.map(async ([, file]) => (await ask(file!)).text))
    const starts = listed.flatMap((text) =>
      text
        .trim()
        .split('\n')
        .slice(1)
        .map((row) => row.split(',')),
    )
    for (const { key, reason, start_time: start } of meta.gaps) {
      expect(starts).toContainEqual(expect.arrayContaining([key, reason, start]))
    }
    expect(starts.filter((cells) => cells.includes('chain'))).toHaveLength(1)
  })
})

describe('receipts', () => {
  it('end every walk over rows, page by page', async () => {
    const { json } = await server()
    for (const url of [`${B}/trades`, `${C}/trades`, `${A}/timeseries?metric=price`]) {
      for (const limit of [1, 3, 1000]) {
        const ids: string[] = []
        let gaps = 0
        let cursor: string | null = ''
        let last: Row | undefined
        while (cursor !== null) {
          const more: string = `${url.includes('?') ? '&' : '?'}limit=${limit}`
          const page = await json(`${url}${more}${cursor === '' ? '' : `&cursor=${cursor}`}`)
          expect(last).toBeUndefined()
          ids.push(...page.data.map((row) => String(row['id'])))
          gaps += page.meta.gaps.length
          cursor = page.pagination.next_cursor
          last = page.meta.receipt
        }
        const instruments = countIds(ids).map((one) => expect.objectContaining(one))
        expect(last).toEqual({ rows: ids.length, gaps, instruments })
      }
    }
    const { meta } = await json(`${A}/timeseries?metric=price`)
    const keys = (meta.receipt!['instruments'] as Row[]).map(({ key }) => key)
    expect(keys).toEqual(A_TOKENS.map((token) => `${token}/price`))
  })

  it('count the rows of every list', async () => {
    const { json, lines } = await server()
    for (const url of [
      '/v3/markets?',
      '/v3/markets?sort=volume&',
      '/v3/venuea-prediction/markets?',
      '/v3/gaps?',
      `${A}/revisions?`,
    ]) {
      let rows = 0
      let cursor: string | null = ''
      let last: Row | undefined
      while (cursor !== null) {
        const page = await json(`${url}limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
        expect(last).toBeUndefined()
        rows += page.data.length
        cursor = page.pagination.next_cursor
        last = page.meta.receipt
      }
      expect([url, rows > 2, last]).toEqual([url, true, { rows, gaps: 0 }])
      expect((await lines(`${url}limit=1000`)).at(-1)).toEqual({ type: 'receipt', rows, gaps: 0 })
    }
  })
})
