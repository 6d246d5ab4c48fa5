import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  backtest,
  defineStrategy,
  type ReferenceView,
} from '../../packages/sdk/src/backtest/index.ts'
import { replay, replayMessages, type ReplayEvent } from '../../packages/sdk/src/replay/index.ts'
import { fileSource, createReplayPlatform } from '../../packages/sdk/src/replay/replay-node.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import {
  record,
  START_MS,
  type Script,
} from '../../packages/service/src/recorder/scripted.testing.ts'
import {
  bookMessage,
  MARKET,
  newMarketMessage,
} from '../../packages/service/src/venues/venuec/fixtures.testing.ts'
import { at, EXACT, playPrices, servePrices } from '../api/reference-prices.ts'

const SCOPE = `venue=venuec&dataset=reference&asset=btc&start_time=${at(0)}&end_time=${at(100)}`

/** The prices of the other tests, with a book beside them. */
function play(script: Script): void {
  script.note({ note: 'connected', slot: 1, url: 'ws://c' })
  script.frame(1, newMarketMessage({ timestamp: String(START_MS) }))
  script.frame(1, bookMessage({ timestamp: String(START_MS) }))
  playPrices(script)
}

describe('downloaded reference prices', () => {
  let folder: string
  let data: DataFolder
  const files: Record<string, string> = {}

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'priorbook-reference-'))
    data = toDataFolder(join(folder, 'data'))
    await record(data, 'venuec', play)
    return () => rmSync(folder, { recursive: true, force: true })
  })

  async function download(format: string, scope = SCOPE): Promise<Buffer> {
    const { get } = await servePrices(data)
    const answer = await get(`/v3/bulk?${scope}&format=${format}`)
    expect(answer.status).toBe(200)
    const bytes = Buffer.from(await answer.arrayBuffer())
    files[format] = join(folder, `prices.${format}`)
    writeFileSync(files[format], bytes)
    return bytes
  }

  async function eventsOf(...names: string[]): Promise<ReplayEvent[]> {
    const platform = createReplayPlatform()
    const sources = names.map((name) => fileSource(files[name]!))
    const events: ReplayEvent[] = []
    for await (const event of replay({ sources, platform }).events()) events.push({ ...event })
    return events
  }

  it('have the rows of REST in every format', async () => {
    const { client } = await servePrices(data)
    const params = { number_format: 'string', end_time: at(100) } as const
    const rows = await client.referencePrices('BTC', params).toArray()
    const lines = (await download('ndjson', `${SCOPE}&number_format=string`))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const prices = lines.filter(({ type }) => type === 'reference')
    expect(prices.map(({ type: _type, ...row }) => row)).toEqual(rows)
    expect(lines.filter(({ type }) => type === 'gap')).toHaveLength(3)
    expect(lines.at(-1)).toMatchObject({ type: 'receipt', rows: 110, gaps: 3, markets: 0 })
    const csv = (await download('csv')).toString().trim().split('\n')
    expect(csv).toHaveLength(111)
    const parquet = await download('parquet')
    const copy = parquet.buffer.slice(parquet.byteOffset, parquet.byteOffset + parquet.length)
    const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) }
    const cells = await parquetReadObjects({ file: copy as ArrayBuffer, compressors })
    expect(cells.map(({ id, price }) => `${id} ${price}`)).toEqual(
      rows.map(({ id, price }) => `${id} ${price}`),
    )
    expect((await download('arrow')).length).toBeGreaterThan(1000)
  })

  it('are described by their manifest, and verified by the command line', async () => {
    const { client, cli } = await servePrices(data)
    const scope = {
      venue: 'venuec',
      dataset: 'reference',
      asset: 'btc',
      feed: 'chainlink',
    } as const
    const range = { start_time: at(0), end_time: at(100) }
    const { data: manifest } = await client.manifest({ ...scope, ...range })
    expect(manifest).toMatchObject({ rows: 50, gap_count: 2, dataset: 'reference' })
    expect(manifest.files[0]!.file_name).toContain('btc_reference_chainlink')
    const estimate = await client.manifest({ ...scope, ...range, estimate: true })
    expect(estimate.data.rows).toBe(50)
    await download('ndjson')
    await download('tape')
    expect(await cli('verify', files['ndjson']!)).toMatch(/110/)
    expect(await cli('verify', files['tape']!)).toMatch(/110/)
  })

  it('are replayed as events in order, from either format', async () => {
    await download('tape')
    await download('ndjson')
    const events = await eventsOf('tape')
    expect(await eventsOf('ndjson')).toEqual(events)
    const prices = events.filter((event) => event.kind === 'reference')
    expect(prices).toHaveLength(110)
    expect(prices[14]).toEqual({
      kind: 'reference',
      at: (START_MS + 7000) * 1000,
      venue: 'venuec',
      feed: 'chainlink',
      asset: 'BTC',
      sequence: 8,
      source: (START_MS + 6300) * 1000,
      flags: 0,
      price: EXACT,
    })
    const gaps = events.filter(
      (event) => event.kind === 'gap' && event.gap.reason === 'disconnected',
    )
    expect(gaps).toMatchObject([{ edge: 'open' }, { edge: 'close' }])
  })

  it('are the same events over the socket, among the rows of markets', async () => {
    await download('tape')
    const { client } = await servePrices(data)
    const messages = client.socketReplay({
      markets: [{ venue: 'venuec', market_id: MARKET }],
      references: [{ asset: 'btc' }],
      start_time: at(0),
      end_time: at(100),
      number_format: 'string',
    })
    const events: ReplayEvent[] = []
    for await (const event of replayMessages(messages).events()) events.push({ ...event })
    const own = events.filter(
      (event) =>
        event.kind === 'reference' ||
        (event.kind === 'gap' && event.gap.key.startsWith('reference/')),
    )
    const plain = (event: ReplayEvent): unknown =>
      event.kind === 'gap' ? { ...event, gap: { ...event.gap, journal: 0 } } : event
    expect(own.map(plain)).toEqual((await eventsOf('tape')).map(plain))
    expect(events.some(({ kind }) => kind === 'book')).toBe(true)
  })

  it('are known to a strategy when they were received, and not inside a gap', async () => {
    await download('tape')
    files['books'] = join(folder, 'books.tape')
    const { get } = await servePrices(data)
    const books = `venue=venuec&market_id=${MARKET}&start_time=${at(0)}&end_time=${at(100)}`
    const answer = await get(`/v3/bulk?${books}&format=tape`)
    writeFileSync(files['books'], Buffer.from(await answer.arrayBuffer()))
    const seen: string[] = []
    const heard: ReferenceView[] = []
    const strategy = defineStrategy({
      onStart(context) {
        for (const second of [7.5, 19.5, 25, 30.5]) {
          context.timerAt((START_MS + second * 1000) * 1000, String(second))
        }
      },
      onReference: (price) => void heard.push(price),
      onTimer({ tag }, context) {
        const oracle = context.reference('btc', 'chainlink')
        const any = context.reference('BTC')
        seen.push(`${tag} ${oracle?.exact} ${any?.feed} ${context.reference('ETH')?.price}`)
        expect(oracle === undefined || oracle.time <= context.now).toBe(true)
      },
    })
    const sources = [fileSource(files['books']), fileSource(files['tape']!)]
    const events = replay({ sources, platform: createReplayPlatform() })
    await backtest({ events, strategy, queue: 'proportional' })
    expect(heard).toHaveLength(110)
    expect(seen).toEqual([
      `7.5 ${EXACT} chainlink undefined`,
      '19.5 undefined exchange undefined',
      '25 undefined exchange undefined',
      '30.5 64030 chainlink undefined',
    ])
  })

  it('come with the markets of a backtest and a replay of the command line', async () => {
    const { cli } = await servePrices(data)
    const strategy = join(folder, 'strategy.mjs')
    writeFileSync(
      strategy,
      `let count = 0
      export const strategy = {
        onReference() { count++ },
        onEnd(context) { context.log('prices ' + count) },
      }`,
    )
    const range = ['--from', at(0), '--to', at(100)]
    const market = `venuec:${MARKET}`
    const more = ['--references', 'BTC', '--queue', 'proportional', '--json']
    const report = await cli('backtest', strategy, '--markets', market, ...range, ...more)
    expect(report).toContain('prices 110')
    const span = ['--start', at(0), '--end', at(100)]
    const lines = await cli('replay', market, ...span, '--references', 'BTC')
    expect(lines.split('\n').filter((line) => line.includes('"type":"reference"'))).toHaveLength(
      110,
    )
  })

  it('are refused where parameters of markets are given', async () => {
    const { get } = await servePrices(data)
    for (const more of ['&window=5m', '&metric=price', '&depth=5']) {
      expect((await get(`/v3/bulk?${SCOPE}${more}`)).status).toBe(400)
    }
    expect((await get('/v3/bulk?venue=venuec&dataset=books&asset=btc&feed=chainlink')).status).toBe(
      400,
    )
  })
})
