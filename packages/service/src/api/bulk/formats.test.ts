import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chunkHash,
  decodeChunk,
  openChunk,
  rowsBetween,
  type BookColumns,
  type Chunk,
  type Observation,
} from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { createBookRenderer, CSV_COLUMNS, type GapJson } from '@priorbook/sdk/wire'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { BEGIN } from '../../store/store-script.testing.ts'
import type { Store } from '../../store/store.ts'
import { createBulkCaller, createWindowGrant, type BulkCaller } from './bulk.testing.ts'
import { readArrow, readParquet, type ReadRow } from './read-back.testing.ts'
import {
  OUTAGE,
  openScriptedStore,
  RECORDS,
  type PlainRow,
  type ScriptedStore,
} from './scripted-store.testing.ts'
import { countIds, expectedInstruments } from '../../rows/receipt.testing.ts'
import { readContainer } from './tape-container.ts'

const platform = createNodePlatform()
let made: ScriptedStore
let caller: BulkCaller
let range: string

beforeAll(async () => {
  made = await openScriptedStore(11, 500)
  caller = createBulkCaller(made.store)
  range = `start_time=${BEGIN - 86_400_000_000}&end_time=${made.end}`
})

afterAll(() => made.close())

const FAMILIES = {
  venuea: 'venue=venuea&asset=btc&window=15m',
  venueb: 'venue=venueb&series=KXALL',
  venuec: 'venue=venuec&asset=BTC',
} as const

type Line = Readonly<Record<string, unknown>> & { readonly type: string }

async function lines(query: string): Promise<Line[]> {
  const bytes = await caller.bytes(query)
  const texts = bytes.toString().split('\n')
  expect(texts.pop()).toBe('')
  return texts.map((text) => JSON.parse(text) as Line)
}

/** What was put in, in the order of a file. */
function expected(venue: string, start = 0, end = Infinity): PlainRow[] {
  return RECORDS.filter((record) => record.venue === venue).flatMap(({ marketId }) => {
    const keys = [...made.rows.keys()]
    const rows = keys.flatMap((key) => made.rows.get(key)!.filter((row) => row.market === marketId))
    const order = ['7132', '5211']
    const place = ({ id }: PlainRow): number => order.findIndex((key) => id.includes(`:${key}`))
    return rows
      .filter(({ received }) => received >= start && received < end)
      .sort((a, b) => a.received - b.received || a.sequence - b.sequence || place(a) - place(b))
  })
}

const toPlain = (row: Line): PlainRow =>
  ({
    id: row['id'],
    market: row['market_id'],
    received: row['received_time'],
    sequence: row['sequence'],
    bids: row['bids'],
    asks: row['asks'],
  }) as PlainRow

const STYLE = 'number_format=string&time_format=epoch_us'

describe.each(['venuea', 'venueb', 'venuec'] as const)('books of %s', (venue) => {
  it('are lines of NDJSON as they were put in, market by market', async () => {
    const all = await lines(`${FAMILIES[venue]}&${range}&${STYLE}`)
    const rows = all.filter(({ type }) => type === 'book').map(toPlain)
    expect(rows.length).toBeGreaterThan(200)
    expect(rows).toEqual(expected(venue))
  })

  it('are cut by the range: start inclusive, end exclusive', async () => {
    const rows = expected(venue)
    const [first, last] = [rows[30]!.received, rows[rows.length - 30]!.received]
    const [start, end] = [Math.min(first, last), Math.max(first, last)]
    const query = `${FAMILIES[venue]}&start_time=${start}&end_time=${end}&${STYLE}`
    const served = (await lines(query)).filter(({ type }) => type === 'book').map(toPlain)
    expect(served).toEqual(expected(venue, start, end))
  })

  it('are equal in CSV, Arrow and Parquet', async () => {
    const query = `${FAMILIES[venue]}&${range}`
    const all = await lines(`${query}&${STYLE}`)
    const rows = all.filter(({ type }) => type === 'book')
    const columns = rows.map(toColumns)
    const arrow = readArrow(await caller.bytes(`${query}&format=arrow`))
    expect(arrow.rows).toEqual(columns)
    const parquet = await readParquet(await caller.bytes(`${query}&format=parquet`))
    expect(parquet.rows).toEqual(columns)
    const csv = (await caller.bytes(`${query}&format=csv&${STYLE}`))
      .toString()
      .trimEnd()
      .split('\n')
    expect(csv[0]).toBe(CSV_COLUMNS.join(','))
    expect(csv.slice(1)).toEqual(rows.map(toCsv))
  })

  it('say everywhere that the same rows are in the file', async () => {
    const query = `${FAMILIES[venue]}&${range}`
    const receipt = (await lines(query)).at(-1)!
    const { type, crc32: check, ...shared } = receipt
    expect(type).toBe('receipt')
    const parquet = await readParquet(await caller.bytes(`${query}&format=parquet`))
    const keys = parquet.metadata.key_value_metadata!
    const kept = keys.find(({ key }) => key === 'priorbook.receipt')!
    expect(JSON.parse(kept.value!)).toEqual(shared)
    const frames = [...readContainer(await caller.bytes(`${query}&format=tape`))]
    const end = parse(frames.at(-1)!.payload)
    expect({ ...end, sha256: undefined }).toEqual({ ...shared, sha256: undefined })
    const ids = expected(venue).map(({ id }) => id)
    expect(shared['instruments']).toEqual(countIds(ids))
    const { data } = await caller.manifest(query)
    const instruments = await expectedInstruments(made.store, venue, ids)
    expect(data).toMatchObject({ receipt: { rows: ids.length, instruments } })
    const text = (await caller.bytes(query)).toString()
    const before = text.slice(0, text.lastIndexOf('{"type":"receipt"'))
    expect(crc32(before).toString(16).padStart(8, '0')).toBe(check)
  })

  it('come as whole chunks with the hashes of the store, and nothing is missing between them', async () => {
    const frames = [...readContainer(await caller.bytes(`${FAMILIES[venue]}&${range}&format=tape`))]
    const chunks = frames
      .filter(({ kind }) => kind === 'chunk')
      .map(({ payload }) => hashOf(payload))
    const parts = frames.filter(({ kind }) => kind === 'part')
    const stored: string[] = []
    for (const key of orderedKeys(venue)) {
      for await (const chunk of made.store.chunks({ venue, key })) {
        if (chunk.kind === 'book' && chunk.sealed) stored.push(hashOf(chunk.bytes))
      }
    }
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks).toEqual(stored)
    expect(parts.length).toBeGreaterThan(0)
    const ids = frames
      .filter(({ kind }) => kind === 'chunk' || kind === 'part')
      .flatMap(({ payload }) => idsOf(openChunk(payload, platform)))
    const wanted = orderedKeys(venue).flatMap((key) => made.rows.get(key)!.map(({ id }) => id))
    expect(ids).toEqual(wanted)
  })
})

describe('a tape export', () => {
  it('put into another store makes the same chunks', async () => {
    // Who made rows is known of chunks alone.
    await made.store.seal()
    const query = `${FAMILIES.venueb}&${range}&format=tape`
    const store = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
    try {
      const chunks = [...readContainer(await caller.bytes(query))]
        .filter(({ kind }) => kind === 'chunk' || kind === 'part')
        .map(({ payload }) => openChunk(payload, platform))
      await importChunks(store, chunks)
      await store.seal()
      for (const key of orderedKeys('venueb')) {
        const facts = await store.instrument({ venue: 'venueb', key })
        expect(facts?.head).toBe((await made.store.instrument({ venue: 'venueb', key }))!.head)
      }
    } finally {
      await store.close()
    }
  })

  it('gives nothing from before the window of the plan, and the rest in parts', async () => {
    const rows = expected('venueb').toSorted((a, b) => a.received - b.received)
    const start = rows[Math.floor(rows.length / 2)]!.received
    const query = `${FAMILIES.venueb}&${range}&format=tape`
    const frames = [
      ...readContainer(await caller.bytes(query, { grant: createWindowGrant(start) })),
    ]
    const ids = new Set<string>()
    for (const { kind, payload } of frames) {
      if (kind !== 'chunk' && kind !== 'part') continue
      const chunk = openChunk(payload, platform)
      expect(chunk.header.firstReceived).toBeGreaterThanOrEqual(start)
      for (const id of idsOf(chunk)) ids.add(id)
    }
    expect(ids).toEqual(new Set(expected('venueb', start).map(({ id }) => id)))
  })

  it('that was cut or changed is refused', async () => {
    const bytes = await caller.bytes(`${FAMILIES.venuea}&${range}&format=tape`)
    const refused = (changed: Uint8Array): void => {
      expect(() => [...readContainer(changed)]).toThrow(/damaged tape export/)
    }
    for (const length of [0, 4, 8, 100, bytes.length - 1]) refused(bytes.subarray(0, length))
    for (const at of [0, 4, 5, 300, bytes.length - 100]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      refused(changed)
    }
    refused(Buffer.concat([bytes, Buffer.from('x')]))
  })
})

describe('gaps', () => {
  it('stand as lines between the rows that they part, each once', async () => {
    for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
      const all = await lines(`${FAMILIES[venue]}&${range}&${STYLE}`)
      const own = made.gaps.filter((gap) => gap.venue === venue)
      const seen = all
        .filter(({ type }) => type === 'gap')
        .filter(({ scope }) => scope === 'instrument')
      expect(seen.length).toBe(own.length)
      expect(seen.length).toBeGreaterThan(3)
      for (const [index, line] of all.entries()) {
        if (line.type !== 'gap' || line['scope'] !== 'instrument') continue
        const gap = line as unknown as GapJson
        const of = (row: Line): boolean => String(row['id']).startsWith(`${venue}:${gap.key}:`)
        const before = all.slice(0, index).findLast(of)
        const after = all.slice(index).find(of)
        expect(before?.['sequence'] ?? 0).toBe(gap.after_sequence)
        expect(after?.['sequence'] ?? gap.after_sequence + 1).toBe(gap.after_sequence + 1)
      }
    }
  })

  it('of a whole venue stand in every market, and once in the manifest', async () => {
    const all = await lines(`${FAMILIES.venueb}&${range}`)
    const outages = all.filter(({ scope }) => scope === 'venue')
    expect(outages.map(({ reason }) => reason)).toEqual([OUTAGE.reason, OUTAGE.reason])
    const { meta } = await caller.manifest(`${FAMILIES.venueb}&${range}`)
    const listed = meta.gaps as GapJson[]
    expect(listed.filter(({ scope }) => scope === 'venue')).toHaveLength(1)
    expect(listed).toHaveLength(1 + made.gaps.filter(({ venue }) => venue === 'venueb').length)
  })
})

describe('trades and samples', () => {
  const cases = [
    ['trades of B', `${FAMILIES.venueb}&dataset=trades`],
    ['trades of C', `${FAMILIES.venuec}&dataset=trades`],
    ['chance', `${FAMILIES.venuea}&dataset=samples&metric=chance`],
    ['price', `${FAMILIES.venuea}&dataset=samples&metric=price`],
  ] as const

  it.each(cases)('%s are equal in all formats', async (_name, scope) => {
    const query = `${scope}&${range}`
    const all = await lines(`${query}&${STYLE}`)
    const kind = scope.includes('trades') ? 'trade' : 'sample'
    const rows = all.filter(({ type }) => type === kind)
    expect(rows.length).toBeGreaterThan(50)
    const columns = rows.map(({ type: _type, native, flags, ...row }) => ({
      ...row,
      flags: (flags as string[]).join('|'),
      ...(native === undefined ? {} : prefixed(native as ReadRow)),
    }))
    expect(readArrow(await caller.bytes(`${query}&format=arrow`)).rows).toEqual(columns)
    const parquet = await readParquet(await caller.bytes(`${query}&format=parquet`))
    expect(parquet.rows).toEqual(columns)
    const csv = (await caller.bytes(`${query}&format=csv&${STYLE}`))
      .toString()
      .trimEnd()
      .split('\n')
    expect(csv[0]!.split(',')).toEqual(Object.keys(parquet.rows[0]!))
    expect(csv.slice(1)).toEqual(parquet.rows.map((row) => Object.values(row).map(cell).join(',')))
    const frames = [...readContainer(await caller.bytes(`${query}&format=tape`))]
    const inFile = frames
      .filter(({ kind: frame }) => frame === 'chunk' || frame === 'part')
      .reduce((sum, { payload }) => sum + openChunk(payload, platform).header.count, 0)
    expect(inFile).toBe(rows.length)
    expect(parse(frames.at(-1)!.payload)['rows']).toBe(rows.length)
  })

  it('are by received time, as the store has them', async () => {
    const rows = (await lines(`${FAMILIES.venuec}&dataset=trades&${range}&${STYLE}`)).filter(
      ({ type }) => type === 'trade',
    )
    const times = rows.map((row) => row['received_time'] as number)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    let stored = 0
    for (const key of orderedKeys('venuec')) {
      const page = await made.store.trades({ venue: 'venuec', key, order: 'asc', limit: 10_000 })
      stored += page.rows.count
    }
    expect(rows).toHaveLength(stored)
  })
})

describe('choices', () => {
  it('without ladders and with fewer levels', async () => {
    const query = `${FAMILIES.venueb}&${range}`
    const bare = await readParquet(
      await caller.bytes(`${query}&include_orderbook=false&format=parquet`),
    )
    expect(Object.keys(bare.rows[0]!)).not.toContain('bids_price')
    const shallow = (await lines(`${query}&depth=2&${STYLE}`)).filter(({ type }) => type === 'book')
    const arrow = readArrow(await caller.bytes(`${query}&depth=2&format=arrow`))
    expect(arrow.rows).toEqual(shallow.map(toColumns))
    expect(Math.max(...arrow.rows.map((row) => (row['bids_price'] as []).length))).toBe(2)
  })

  it('a page of JSON has the rows of the file', async () => {
    const { marketId } = RECORDS[1]!
    const page = await made.store.books({
      venue: 'venueb',
      key: marketId,
      order: 'asc',
      limit: 10_000,
      numbers: true,
    })
    const context = {
      venue: 'venueb',
      key: marketId,
      marketId,
      seriesTicker: 'KXALL',
      outcome: 'Yes',
      tokenId: RECORDS[1]!.outcomes[0]!.tokenId,
    } as const
    const rows = createBookRenderer().renderJsonRows(page.runs, context, { ladders: true })
    const wanted = JSON.parse(`[${Buffer.from(rows).toString()}]`) as Line[]
    const served = (await lines(`venue=venueb&market_id=${marketId}`)).filter(
      ({ type }) => type === 'book',
    )
    expect(served).toEqual(wanted.map((row) => ({ ...row, type: 'book' })))
  })
})

function toColumns(row: Line): ReadRow {
  const { type: _type, flags, native, bids, asks, yes, no, ...rest } = row
  const numbers = native as { sid?: number; connection?: number; seq?: number }
  const sides = { bids, asks, yes, no } as Record<string, PlainRow['bids'] | undefined>
  return {
    ...rest,
    flags: (flags as string[]).join('|'),
    native_sid: numbers.sid ?? null,
    native_connection: numbers.connection ?? null,
    native_seq: numbers.seq ?? null,
    ...Object.fromEntries(
      Object.entries(sides).flatMap(([name, side]) => [
        [`${name}_price`, side?.price ?? null],
        [`${name}_size`, side?.size ?? null],
      ]),
    ),
  }
}

function toCsv(row: Line): string {
  const columns = toColumns(row)
  return CSV_COLUMNS.map((name) => {
    const value = (columns[name] ?? '') as string | number | readonly string[]
    return typeof value === 'object'
      ? `"${JSON.stringify(value).replaceAll('"', '""')}"`
      : String(value)
  }).join(',')
}

function cell(value: unknown): string {
  const text = String((value as string | number | null) ?? '')
  return text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text
}

// What the message said is one text beside the numbers and the word of the side.
function prefixed(native: ReadRow): ReadRow {
  const { taker_side, sid, seq, ...words } = native
  const isOwn = taker_side !== null && words['side'] === undefined
  const said = isOwn ? { taker_side, ...words } : words
  return {
    native_taker_side: taker_side,
    native_sid: sid,
    native_seq: seq,
    native: Object.keys(said).length === 0 ? null : JSON.stringify(said),
  }
}

function parse(payload: Uint8Array): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>
}

function orderedKeys(venue: string): string[] {
  return RECORDS.filter((record) => record.venue === venue).flatMap(({ marketId, outcomes }) =>
    venue === 'venuec' ? outcomes.map(({ tokenId }) => tokenId!) : [marketId],
  )
}

function hashOf(bytes: Uint8Array): string {
  return Buffer.from(chunkHash(openChunk(bytes, platform), platform)).toString('hex')
}

function idsOf(chunk: Chunk): string[] {
  const { venue, key, first } = chunk.header
  const { columns } = decodeChunk(chunk, platform)
  const { from, to } = rowsBetween(columns, 0, Infinity)
  return Array.from({ length: to - from }, (_, row) => `${venue}:${key}:${first + row}`)
}

/** Appends the observations of chunks as a recorder would: by journal record, a batch for each maker. */
async function importChunks(store: Store, chunks: readonly Chunk[]): Promise<void> {
  const rows = chunks.flatMap((chunk) =>
    observationsOf(chunk).map((observation) => ({ observation, ...chunk.header })),
  )
  rows.sort((a, b) => a.observation.journal - b.observation.journal)
  for (let from = 0; from < rows.length;) {
    const { venue, origin, recorder, normalizer } = rows[from]!
    let to = from
    while (to < rows.length && rows[to]!.normalizer === normalizer) to++
    const observations = rows.slice(from, to).map(({ observation }) => observation)
    const position = observations.at(-1)!.journal
    await store.append({ venue, position, origin, recorder, normalizer, observations })
    from = to
  }
}

function observationsOf(chunk: Chunk): Observation[] {
  const { venue, market, key } = chunk.header
  const columns = decodeChunk(chunk, platform).columns as BookColumns
  const instrument = { venue, market, key }
  return Array.from({ length: columns.count }, (_, row) => {
    const from = columns.changeStart(row)
    const end = columns.changeEnd[row]!
    return {
      instrument,
      received: columns.received[row]!,
      source: columns.source[row]!,
      venueSeq: columns.venueSeq[row]!,
      channel: columns.channel[row]!,
      journal: columns.journal[row]!,
      flags: columns.flags[row]!,
      priceDecimals: columns.priceDecimals,
      keys: [...columns.key.subarray(from, end)],
      sizes: [...columns.size.subarray(from, end)],
    }
  })
}
