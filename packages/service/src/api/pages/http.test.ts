import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createTestServer } from '../server.testing.ts'
import { A_MARKET, at, B_MARKET, createCatalogueStore } from './fixture.testing.ts'

async function server() {
  const store = await createCatalogueStore()
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  return test
}

it('serves the catalogue over HTTP, byte for byte the same on the alias', async () => {
  const test = await server()
  const key = test.keyOf('desk')
  for (const tail of [
    'markets?coin=btc&limit=2',
    A_MARKET,
    `${A_MARKET}/revisions`,
    `${A_MARKET}/trades`,
    `${A_MARKET}/timeseries?metric=chance`,
    `${A_MARKET}/execution?side=buy&size=1&at=2026-08-05T12:00:30Z`,
  ]) {
    const main = await test.ask(`/v3/venuea-prediction/${tail}`, { key })
    const alias = await test.ask(`/v3/venuea-alias/${tail}`, { key })
    expect([tail, main.status, alias.text]).toEqual([tail, 200, main.text])
  }
  const record = await test.ask(`/v3/venuea-prediction/${A_MARKET}`, { key })
  expect(record.text).toContain('"volume":12345.678901234567891,')
})

it('answers problems with their status, and links where there is no envelope', async () => {
  const test = await server()
  const [explorer, quant] = [test.keyOf('explorer'), test.keyOf('quant')]
  const statuses = async (url: string, key: string) => {
    const answer = await test.ask(url, { key })
    return [answer.status, answer.json()['code']]
  }
  expect(await statuses('/v3/venuea-prediction/markets', explorer)).toEqual([403, 'plan_required'])
  expect(await statuses('/v3/venuea-prediction/nosuch/trades', quant)).toEqual([
    404,
    'unknown_market',
  ])
  expect(await statuses('/v3/doge/markets', quant)).toEqual([404, 'unknown_asset'])
  expect(await statuses(`/v3/venueb/${B_MARKET}/timeseries`, quant)).toEqual([
    400,
    'invalid_parameter',
  ])
  expect(
    await statuses(`/v3/venueb/${B_MARKET}/audit?id=venueb:${B_MARKET}:1`, test.keyOf('explorer')),
  ).toEqual([403, 'plan_required'])
  const csv = await test.ask(`/v3/venueb/${B_MARKET}/trades?limit=2`, {
    key: quant,
    headers: { accept: 'text/csv' },
  })
  expect(csv.headers['content-type']).toContain('text/csv')
  expect(csv.headers['link']).toContain('rel="next"')
  const missing = await test.ask(`/v3/venueb/${B_MARKET}/audit?id=venueb:${B_MARKET}:1`, {
    key: quant,
  })
  expect(missing.json()).toMatchObject({
    data: null,
    meta: { notice: { code: 'journal_elsewhere' } },
  })
})
