import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  toBackfillKey,
  toMicros,
  VENUES,
  type MarketRecord,
  type Sample,
} from '@priorbook/sdk/domain'
import { decodeChunk, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { replayFiles } from '@priorbook/sdk/replay/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { backfillFacts, pricesFamily, pricesGapKey } from '../../store/store.ts'
import { createAsker } from '../ask.testing.ts'
import { openAccess } from '../auth/access.ts'
import { at } from '../pages/fixture.testing.ts'
import { createApiServer } from '../server.ts'
import { readArrow, readParquet } from './read-back.testing.ts'
import { readContainer } from './tape-container.ts'

const venue = 'venuec'
const MARKETS = ['0xa1', '0xb2'] as const
const TOKENS = { '0xa1': ['11', '12'], '0xb2': ['21', '22'] } as const
const FETCHED = at(100_000)
/** More than one chunk, so that some rows are sealed. */
const MINUTES = 1500

function recordOf(marketId: (typeof MARKETS)[number], index: number): MarketRecord {
  const [up, down] = TOKENS[marketId]
  return {
    venue,
    marketId,
    conditionId: marketId,
    status: 'resolved',
    openTime: at(index),
    closeTime: at(MINUTES * 60),
    asset: 'BTC',
    window: '1d',
    outcomes: [
      { label: 'Up', index: 0, tokenId: up },
      { label: 'Down', index: 1, tokenId: down },
    ],
    units: VENUES.venuec.units,
    native: {},
  }
}

/** What the venue wrote: some values have more decimals than its prices have. */
function valueOf(token: string, minute: number): string {
  return minute % 7 === 0 ? `0.${token}4999999999999` : `0.${minute}1`
}

function samplesOf(marketId: (typeof MARKETS)[number]): Sample[] {
  return Array.from({ length: MINUTES }, (_, minute) =>
    TOKENS[marketId].map((token): Sample => {
      return {
        kind: 'sample',
        instrument: { venue, market: marketId, key: toBackfillKey(token) },
        metric: 'price',
        value: valueOf(token, minute),
        received: at(minute * 60),
        source: FETCHED,
        journal: 5,
      }
    }),
  ).flat()
}

type Get = (path: string) => Promise<{ status: number; bytes: Buffer }>

async function serve(): Promise<{ readonly get: Get; readonly folder: string }> {
  const folder = createTempFolder()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const facts = Object.fromEntries(
    MARKETS.flatMap((id) => {
      const names = backfillFacts(venue, pricesFamily(id))
      return [
        [names.from, at(0)],
        [names.reached, at(MINUTES * 60)],
      ]
    }),
  )
  await store.append({
    venue,
    position: 10,
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    revisions: MARKETS.map((id, index) => ({
      kind: 'market',
      record: recordOf(id, index),
      received: at(index),
      journal: 1 + index,
    })),
    samples: MARKETS.flatMap(samplesOf),
    gaps: [
      {
        venue,
        scope: 'market',
        key: toBackfillKey(pricesGapKey('0xa1')),
        reason: 'unavailable',
        start: at(90),
        end: at(150),
        afterSequence: 0,
        detail: 'the venue refused it',
        journal: 9,
        endJournal: 9,
      },
    ],
    facts,
  })
  await store.seal()
  const home = join(folder, 'home')
  mkdirSync(home)
  const access = openAccess(home)
  const server = createApiServer({ store, access, now: () => toMicros(at(200_000)) })
  const asker = createAsker(server.handle)
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  onTestFinished(async () => {
    asker.close()
    await server.close(500)
    access.close()
    await store.close()
  })
  const get: Get = async (path) => {
    const { status, bytes } = await asker.ask(path, { key })
    return { status, bytes: Buffer.from(bytes) }
  }
  return { get, folder }
}

type Row = Readonly<Record<string, unknown>>

const linesIn = (bytes: Buffer): Row[] =>
  bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)

const ONE = `/v3/bulk?venue=venuec&market_id=0xa1&dataset=history&metric=price`
const FAMILY = `/v3/bulk?venue=venuec&asset=btc&day=2026-08-05&dataset=history&metric=price`
const STYLE = 'number_format=string&time_format=epoch_us'

describe('a download of price history', () => {
  it('has every value as the venue wrote it, with its gaps in place, by the venue’s time', async () => {
    const { get } = await serve()
    const lines = linesIn((await get(`${ONE}&${STYLE}`)).bytes)
    const rows = lines.filter(({ type }) => type === 'history')
    const expected = Array.from({ length: MINUTES }, (_, minute) =>
      TOKENS['0xa1'].map((token) => `${at(minute * 60)} ${token} ${valueOf(token, minute)}`),
    ).flat()
    const found = rows.map((row) =>
      ['source_time', 'token_id', 'value'].map((name) => row[name]).join(' '),
    )
    expect(new Set(found)).toEqual(new Set(expected))
    expect(found).toHaveLength(expected.length)
    const times = rows.map((row) => row['source_time'] as number)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(rows[0]).toMatchObject({
      id: 'venuec:backfill/11/price:1',
      market_id: '0xa1',
      outcome: 'Up',
      metric: 'price',
      received_time: FETCHED,
    })
    const gap = lines.findIndex(({ type }) => type === 'gap')
    expect(lines[gap]).toMatchObject({ reason: 'unavailable', key: 'backfill/prices/0xa1' })
    expect(lines[gap - 1]!['source_time']).toBe(at(60))
    expect(lines[gap + 1]!['source_time']).toBe(at(120))
    expect(lines.at(-1)).toMatchObject({ type: 'receipt', rows: 2 * MINUTES, gaps: 1 })
    // A page has the same rows.
    const page = `/v3/btc/markets/0xa1/history?metric=price&limit=1000&${STYLE}`
    const { data } = JSON.parse((await get(page)).bytes.toString()) as { data: Row[] }
    expect(rows.slice(0, 1000).map(({ type: _type, ...row }) => row)).toEqual(data)
  })

  it('is equal in all formats, and its manifest proves it', async () => {
    const { get, folder } = await serve()
    const lines = linesIn((await get(`${FAMILY}&${STYLE}`)).bytes)
    const rows = lines.filter(({ type }) => type === 'history')
    expect(new Set(rows.map((row) => row['market_id']))).toEqual(new Set(MARKETS))
    const columns = rows.map(({ type: _type, flags, ...row }) => ({
      ...row,
      flags: (flags as string[]).join('|'),
    }))
    expect(readArrow((await get(`${FAMILY}&format=arrow`)).bytes).rows).toEqual(columns)
    const parquet = await readParquet((await get(`${FAMILY}&format=parquet`)).bytes)
    expect(parquet.rows).toEqual(columns)
    const csv = (await get(`${FAMILY}&format=csv&${STYLE}`)).bytes.toString().trimEnd().split('\n')
    const [head, ...cells] = csv.map((line) => line.split(','))
    expect(head).toEqual(Object.keys(parquet.rows[0]!))
    expect(
      cells.map((row) => Object.fromEntries(head!.map((name, at) => [name, row[at]]))),
    ).toEqual(
      columns.map((row) =>
        Object.fromEntries(
          head!.map((name) => [
            name,
            String((row as Record<string, string | number | null>)[name] ?? ''),
          ]),
        ),
      ),
    )
    const tape = (await get(`${FAMILY}&format=tape`)).bytes
    const platform = createNodePlatform()
    const frames = [...readContainer(tape)]
    // Whole chunks are sent, with rows of the next day.
    const counts = frames
      .filter(({ kind }) => kind === 'chunk' || kind === 'part')
      .map(({ payload }) => decodeChunk(openChunk(payload, platform), platform).columns)
      .map(({ received }) => received.filter((time) => time > 0 && time < at(12 * 3600)).length)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(rows.length)
    expect(JSON.parse(Buffer.from(frames.at(-1)!.payload).toString())).toMatchObject({
      rows: rows.length,
    })
    const manifest = FAMILY.replace('bulk?', 'bulk/manifest?')
    const { data } = JSON.parse(
      (await get(`${manifest}&formats=ndjson,tape`)).bytes.toString(),
    ) as { data: Row }
    expect(data).toMatchObject({
      dataset: 'history',
      metric: 'price',
      origin: 'backfill',
      rows: rows.length,
      sort_order: ['open_time', 'market_id', 'source_time', 'sequence'],
      files: [
        { file_name: 'venuec_btc_history_price_2026-08-05.ndjson' },
        { sha256: createHash('sha256').update(tape).digest('hex') },
      ],
    })
    const { instruments } = data['receipt'] as { instruments: readonly Row[] }
    expect(instruments).toHaveLength(4)
    expect(instruments[0]).toMatchObject({
      key: 'backfill/11/price',
      rows: 720,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    // A replay refuses a file of history: no recorder received these values.
    const file = join(folder, 'history.pbx')
    writeFileSync(file, tape)
    const replayed = async (): Promise<void> => {
      for await (const _batch of replayFiles([file])) continue
    }
    await expect(replayed()).rejects.toThrow('cannot be replayed')
  })

  it.each([
    ['without a metric', ONE.replace('&metric=price', ''), 'metric'],
    ['of a metric of samples', ONE.replace('metric=price', 'metric=chance'), 'metric'],
    ['of observed values', `${ONE}&origin=observed`, 'origin'],
    ['as known at a time', `${ONE}&known_at=${at(10)}`, 'known_at'],
    ['of a metric beside books', ONE.replace('dataset=history', 'dataset=books'), 'metric'],
  ])('is refused %s', async (_what, path, param) => {
    const { get } = await serve()
    const { status, bytes } = await get(path)
    expect([status, JSON.parse(bytes.toString())]).toMatchObject([
      400,
      { code: 'invalid_parameter', param },
    ])
  })

  it('says why it has no rows', async () => {
    const { get } = await serve()
    const lines = linesIn((await get(ONE.replace('metric=price', 'metric=volume'))).bytes)
    expect(lines.at(-1)).toMatchObject({ rows: 0, notice: [{ code: 'no_rows_in_range' }] })
  })
})
