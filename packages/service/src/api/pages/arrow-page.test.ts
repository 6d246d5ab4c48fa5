import { rmSync } from 'node:fs'
import { DataType, tableFromIPC, type Vector } from 'apache-arrow'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  COUNT,
  DECIMAL_OR_NULL,
  FLAG_OR_NULL,
  listOf,
  objectOf,
  orNull,
  Problem,
  TEXT_OR_NULL,
  TIME_OR_NULL,
} from '@priorbook/sdk/wire'
import { createTestServer } from '../server.testing.ts'
import { toArrowPage } from './arrow-page.ts'
import { A_MARKET, at, B_MARKET, createCatalogueStore } from './fixture.testing.ts'

type Row = Readonly<Record<string, unknown>>

const LISTS = [
  '/v3/gaps?',
  '/v3/markets?include=native',
  '/v3/markets?',
  '/v3/events?',
  '/v3/contracts?members=1',
  '/v3/venuea-prediction/markets?',
  '/v3/venueb/markets?include=native',
  '/v3/btc/markets?',
  `/v3/venuea-prediction/${A_MARKET}/revisions?`,
  '/v3/parity?',
  '/v3/coverage?',
  '/v3/coverage?venue=venueb',
  `/v3/coverage?venue=venuea&market=${A_MARKET}`,
  `/v3/coverage?market=${B_MARKET}`,
  '/v3/coverage/days?venue=venuea',
]

async function server() {
  const store = await createCatalogueStore()
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const key = test.keyOf('unlimited')
  return (url: string, headers = {}) => test.ask(url, { key, headers })
}

describe('a list as Arrow', () => {
  it.each(LISTS)('has the rows and values of JSON: %s', async (list) => {
    const ask = await server()
    const style = list.includes('/events') || list.includes('/gaps') ? '' : '&number_format=string'
    const times = list.includes('/parity') ? '' : `${style}&time_format=epoch_us`
    const { data } = (await ask(`${list}${times}`)).json() as { data: Row[] }
    const { status, headers, bytes } = await ask(`${list}&format=arrow`)
    expect([status, headers['content-type']]).toEqual([200, 'application/vnd.apache.arrow.stream'])
    const rows = readRows(bytes)
    expect(rows).toEqual(data.map((row, index) => toColumns(row, rows[index])))
    // The fixture has no failed checks.
    expect(rows.length).toBeGreaterThanOrEqual(list.includes('/parity') ? 0 : 1)
  })

  it.each([
    ['coverage', '/v3/coverage?'],
    ['coverage', `/v3/coverage?market=${A_MARKET}`],
    ['day', '/v3/coverage/days?venue=venuea'],
  ])('of coverage, lines typed %s, comes as NDJSON and CSV too: %s', async (type, list) => {
    const ask = await server()
    const { data, meta } = (await ask(`${list}&number_format=string`)).json() as {
      data: Row[]
      meta: { notices: object[] }
    }
    const linesOf = async (format: string): Promise<string[]> => {
      const { text } = await ask(`${list}&number_format=string&format=${format}`)
      return text.trimEnd().split('\n')
    }
    expect((await linesOf('ndjson')).map((line) => JSON.parse(line) as unknown)).toEqual([
      ...data.map((row) => ({ type, ...row })),
      ...meta.notices.map((notice) => ({ type: 'notice', ...notice })),
    ])
    const [head, ...rows] = await linesOf('csv')
    expect(head!.split(',')).toEqual(Object.keys(data[0]!))
    expect(rows).toEqual(data.map((row) => Object.values(row).map(cellOf).join(',')))
  })

  it('is walked by the links of its pages, whose columns are the same, up to the receipt', async () => {
    const ask = await server()
    const ids: unknown[] = []
    const types = new Set<string>()
    let receipt: string | undefined
    for (let next: string | undefined = '/v3/markets?limit=1&format=arrow'; next !== undefined;) {
      const { headers, bytes } = await ask(next)
      ids.push(...readRows(bytes).map((row) => row['market_id']))
      types.add(String(tableFromIPC(bytes).schema))
      next = /<([^>]*)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
      receipt = headers['priorbook-receipt']
    }
    const { data } = (await ask('/v3/markets')).json() as { data: Row[] }
    expect(ids).toEqual(data.map((row) => row['market_id']))
    expect(ids.length).toBeGreaterThan(2)
    expect(types.size).toBe(1)
    expect(JSON.parse(receipt!)).toMatchObject({ rows: ids.length })
  })

  it('is asked for by the header too, and has no style', async () => {
    const ask = await server()
    const accept = { accept: 'application/vnd.apache.arrow.stream' }
    expect(readRows((await ask('/v3/gaps', accept)).bytes).length).toBeGreaterThan(0)
    for (const param of ['number_format=string', 'time_format=iso']) {
      const { status, text } = await ask(`/v3/markets?format=arrow&${param}`)
      const code = 'invalid_parameter'
      expect([status, JSON.parse(text)]).toMatchObject([400, { code, param: param.split('=')[0] }])
    }
    expect((await ask(`/v3/venuea-prediction/${A_MARKET}/snapshots`, accept)).status).toBe(406)
  })
})

describe('columns', () => {
  const inner = objectOf({ at: TIME_OR_NULL, price: DECIMAL_OR_NULL })
  const schema = objectOf({
    count: COUNT,
    flag: FLAG_OR_NULL,
    text: TEXT_OR_NULL,
    price: DECIMAL_OR_NULL,
    inner: orNull(inner),
    list: orNull(listOf(inner)),
    any: {},
  })

  it('keep nulls, empty lists, nested values and every digit', () => {
    const most = '99999999999999999999.999999999999999999'
    const rows = [
      {
        count: Number.MAX_SAFE_INTEGER,
        flag: false,
        text: 'µ €',
        price: most,
        inner: { at: 1_785_931_200_123_457, price: '-0.000000000000000001' },
        list: [],
        any: { a: [1] },
      },
      { count: 0, flag: null, text: null, price: null, inner: null, list: null, any: null },
      {
        count: 1,
        flag: true,
        text: '',
        price: `-${most}`,
        inner: { at: null, price: '0.5' },
        list: [{ at: 1, price: null }, null, { at: null, price: '1' }],
        any: 'plain',
      },
    ]
    const read = readRows(toArrowPage(rows, schema))
    expect(read).toEqual([{ ...rows[0], any: '{"a":[1]}' }, rows[1], rows[2]])
  })

  it('have the same types without rows', () => {
    const empty = tableFromIPC(toArrowPage([], schema))
    const full = tableFromIPC(toArrowPage([{ count: 1 }], schema))
    expect([empty.numRows, String(empty.schema)]).toEqual([0, String(full.schema)])
  })

  it.each(['100000000000000000000', '0.1234567890123456789', '1e21', 'NaN'])(
    'refuse a decimal that they cannot hold: %s',
    (price) => {
      expect(() => toArrowPage([{ price }], schema)).toThrow(Problem)
    },
  )
})

/** A cell of CSV: what is not a plain value is JSON text, and quotes are doubled (RFC 4180). */
function cellOf(value: unknown): string {
  if (value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as JSON has them: decimals as text, times as microseconds. */
function readRows(bytes: Uint8Array): Row[] {
  const table = tableFromIPC(bytes)
  return Array.from({ length: table.numRows }, (_, row) =>
    Object.fromEntries(
      table.schema.fields.map(({ name }) => [name, valueOf(table.getChild(name)!, row)]),
    ),
  )
}

function valueOf(vector: Vector<DataType>, row: number): unknown {
  if (!vector.isValid(row)) return null
  const { type } = vector
  if (DataType.isStruct(type)) {
    const members = type.children.map(({ name: member }) => [
      member,
      valueOf(vector.getChild(member as never)! as Vector<DataType>, row),
    ])
    return Object.fromEntries(members) as unknown
  }
  const value: unknown = vector.get(row)
  if (DataType.isList(type)) {
    const list = value as Vector<DataType>
    return Array.from({ length: list.length }, (_, index) => valueOf(list, index))
  }
  if (DataType.isDecimal(type)) return decimalText(value as Uint32Array)
  // Timestamps come as milliseconds with a fraction, which a double holds to the microsecond.
  if (DataType.isTimestamp(type)) return Math.round((value as number) * 1000)
  return typeof value === 'bigint' ? Number(value) : value
}

function decimalText(words: Uint32Array): string {
  const units = BigInt.asIntN(
    128,
    words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n),
  )
  const digits = String(units < 0n ? -units : units).padStart(19, '0')
  const fraction = digits.slice(-18).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -18)}${fraction === '' ? '' : `.${fraction}`}`
}

/** A row of JSON as columns have it: what it leaves out is null, and what has no type of its own is JSON text. */
function toColumns(json: unknown, column: unknown): unknown {
  if (json === undefined || json === null) return null
  if (typeof json !== 'object') return json
  if (typeof column === 'string') return JSON.stringify(json)
  if (Array.isArray(json)) return json.map((one, at) => toColumns(one, (column as unknown[])?.[at]))
  const names = new Set([...Object.keys(json), ...Object.keys(column ?? {})])
  return Object.fromEntries(
    [...names].map((name) => [name, toColumns((json as Row)[name], (column as Row)?.[name])]),
  )
}
