import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { record, START_MS } from '../../packages/service/src/recorder/scripted.testing.ts'
import { at, EXACT, playPrices, servePrices } from './reference-prices.ts'

describe('recorded reference prices', () => {
  let data: DataFolder

  beforeAll(async () => {
    const path = mkdtempSync(join(tmpdir(), 'priorbook-reference-'))
    data = toDataFolder(join(path, 'data'))
    await record(data, 'venuec', playPrices)
    return () => rmSync(path, { recursive: true, force: true })
  })

  it('are listed by feed and asset', async () => {
    const { client } = await servePrices(data)
    const { data: series } = await client.reference()
    expect(series).toMatchObject([
      { feed: 'chainlink', asset: 'BTC', venue: 'venuec', unit: 'USD', prices: 50 },
      { feed: 'exchange', asset: 'BTC', venue: 'venuec', unit: 'USDT', prices: 60 },
      { feed: 'exchange', asset: 'ETH', prices: 1, open_gap: 'recorder_down' },
    ])
    expect(series[0]).toMatchObject({
      key: 'reference/chainlink/BTC',
      first_time: at(0).replace('Z', '000Z'),
      last_time: at(59).replace('Z', '000Z'),
    })
    // They are neither markets nor in the totals of books.
    expect(await client.markets().toArray()).toEqual([])
  })

  it('are served with both clocks and every digit, in pages of any size and order', async () => {
    const { client } = await servePrices(data)
    const params = { feed: 'chainlink', number_format: 'string', end_time: at(100) } as const
    const rows = await client.referencePrices('btc', params).toArray()
    expect(rows).toHaveLength(50)
    expect(rows[7]).toEqual({
      id: 'venuec:reference/chainlink/BTC/price:8',
      venue: 'venuec',
      feed: 'chainlink',
      asset: 'BTC',
      unit: 'USD',
      source_time: new Date(START_MS + 6300).toISOString().replace('Z', '000Z'),
      received_time: at(7).replace('Z', '000Z'),
      sequence: 8,
      price: EXACT,
      flags: [],
    })
    expect(rows[20]!.flags).toEqual(['after_gap'])
    const all = await client.referencePrices('BTC', { limit: 7, end_time: at(100) }).toArray()
    expect(all).toHaveLength(110)
    const down = await client
      .referencePrices('BTC', { limit: 9, order: 'desc', end_time: at(100) })
      .toArray()
    expect(down.map(({ id }) => id).reverse()).toEqual(all.map(({ id }) => id))
  })

  it('have their gaps on the pages, each once', async () => {
    const { client } = await servePrices(data)
    for (const order of ['asc', 'desc'] as const) {
      const gaps: string[] = []
      const walk = client.referencePrices('BTC', { limit: 11, order, end_time: at(100) })
      for await (const { meta } of walk.pages()) {
        gaps.push(...(meta.gaps ?? []).map(({ key, reason }) => `${key} ${reason}`))
      }
      expect(gaps.sort()).toEqual([
        'reference/chainlink/BTC disconnected',
        'reference/chainlink/BTC recorder_down',
        'reference/exchange/BTC recorder_down',
      ])
    }
    const gaps = await client.gaps({ key: 'reference/chainlink/BTC' }).toArray()
    expect(gaps.map(({ reason, after_sequence: after }) => `${reason} ${after}`)).toEqual([
      'disconnected 20',
      'recorder_down 50',
    ])
  })

  it('are sampled by interval, without a price carried over a gap', async () => {
    const { client } = await servePrices(data)
    for (const order of ['asc', 'desc'] as const) {
      const params = { feed: 'chainlink', interval: '5s', limit: 3, order } as const
      const rows = await client.referencePrices('BTC', { ...params, end_time: at(100) }).toArray()
      const seconds = rows.map(({ received_time: time }) => {
        return Date.parse(String(time)) / 1000 - START_MS / 1000
      })
      const expected = [4, 9, 14, 19, 34, 39, 44, 49, 54, 59]
      expect(seconds).toEqual(order === 'asc' ? expected : expected.reverse())
      expect(rows[0]).toMatchObject({ age_ms: 1000 })
    }
  })

  it('are known at an instant with their age, and not inside a gap', async () => {
    const { client } = await servePrices(data)
    const asOf = async (time: string) =>
      (await client.referenceAsOf('btc', { at: time, number_format: 'string' })).data.map(
        ({ feed, price, age_ms: age, gap }) => `${feed} ${price?.price} ${age} ${gap?.reason}`,
      )
    const half = new Date(START_MS + 7500).toISOString()
    expect(await asOf(half)).toEqual([
      `chainlink ${EXACT} 500 undefined`,
      'exchange 64007.5 500 undefined',
    ])
    expect(await asOf(at(25))).toEqual([
      'chainlink undefined null disconnected',
      'exchange 64025.5 0 undefined',
    ])
    expect(await asOf(at(30))).toEqual([
      'chainlink 64030 0 undefined',
      'exchange 64030.5 0 undefined',
    ])
    expect(await asOf(at(-5))).toEqual([
      'chainlink undefined null undefined',
      'exchange undefined null undefined',
    ])
  })

  it('lead back to the raw message', async () => {
    const { client } = await servePrices(data)
    const id = 'venuec:reference/chainlink/BTC/price:8'
    const { data: report } = await client.referenceAudit('btc', { id })
    expect(report).toMatchObject({
      id,
      kind: 'sample',
      metric: 'price',
      state: 'equal',
      stored: { price: EXACT },
      raw: { socket: 248 },
    })
    expect(JSON.parse(report!.raw!.text)).toMatchObject({
      topic: 'crypto_prices_chainlink',
      payload: { full_accuracy_value: EXACT.replace('.', '') },
    })
    await expect(
      client.referenceAudit('eth', { id }),
      'a row of another asset',
    ).rejects.toMatchObject({ code: 'unknown_row' })
  })

  it('come as CSV and NDJSON too', async () => {
    const { get } = await servePrices(data)
    const range = `feed=chainlink&start_time=${at(18)}&end_time=${at(32)}`
    const csv = await (await get(`/v3/reference/btc?${range}&format=csv`)).text()
    const [head, first] = csv.split('\n')
    expect(head).toBe('id,venue,feed,asset,unit,source_time,received_time,sequence,price,flags')
    expect(first).toContain('venuec:reference/chainlink/BTC/price:19,venuec,chainlink,BTC,USD,')
    const lines = (await (await get(`/v3/reference/btc?${range}&format=ndjson`)).text())
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
    expect(lines).toEqual(['reference', 'reference', 'gap', 'reference', 'reference', 'receipt'])
  })

  it('are gated by asset, and unknown ones are told', async () => {
    const { client, clientOf } = await servePrices(data)
    await expect(client.referencePrices('doge').page()).rejects.toMatchObject({
      code: 'unknown_asset',
    })
    await expect(client.referencePrices('eth', { feed: 'twap60' }).page()).rejects.toMatchObject({
      code: 'invalid_parameter',
    })
    const small = clientOf('explorer')
    expect((await small.reference()).data.map(({ asset }) => asset)).not.toContain('ETH')
    await expect(small.referencePrices('eth').page()).rejects.toMatchObject({
      code: 'plan_required',
    })
  })

  it('are printed by the command line', async () => {
    const { cli } = await servePrices(data)
    expect(await cli('reference')).toMatch(/BTC\s+chainlink\s+venuec\s+USD /)
    expect(await cli('reference', 'BTC', '--at', at(25))).toMatch(/chainlink\s+–.*disconnected/)
    const range = ['--start', at(5), '--end', at(9), '--feed', 'chainlink']
    expect(await cli('reference', 'BTC', ...range)).toContain(EXACT)
  })

  it('are the same after a rebuild, and verified', async () => {
    const rows = async () => {
      const { client } = await servePrices(data)
      return client.referencePrices('BTC', { number_format: 'string', end_time: at(100) }).toArray()
    }
    const before = await rows()
    expect((await callServer('rebuild', '--data', data.path, '--fresh')).code).toBe(0)
    expect(await rows()).toEqual(before)
    expect((await callServer('verify', '--data', data.path, '--journal')).code).toBe(0)
  })
})
