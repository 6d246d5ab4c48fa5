import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createTestServer } from '../server.testing.ts'
import { A_MARKET, at, B_MARKET, createCatalogueStore } from './fixture.testing.ts'

const A = `/v3/venuea-prediction/${A_MARKET}`
const B = `/v3/venueb/${B_MARKET}`

async function server() {
  const store = await createCatalogueStore()
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const key = test.keyOf('unlimited')
  return { ask: (url: string) => test.ask(url, { key }) }
}

it.each([
  ['include_orderbook=True', 'include_orderbook=true'],
  ['include_orderbook=TRUE', 'include_orderbook=true'],
  ['include_orderbook=1', 'include_orderbook=true'],
  ['include_orderbook=False', 'include_orderbook=false'],
  ['include_orderbook=0', 'include_orderbook=false'],
  ['start_time=2026-08-05', 'start_time=2026-08-05T00:00:00Z'],
  ['end_time=2026-08-06', 'end_time=2026-08-06T00:00:00Z'],
  ['start_time=2026-08-05T12:00:20', 'start_time=2026-08-05T12:00:20Z'],
  ['start_time=2026-08-05T12:00:20.5', 'start_time=2026-08-05T12:00:20.500Z'],
  ['start_time=2026-08-05%2012:00:20', 'start_time=2026-08-05T12:00:20Z'],
  ['start_time=2026-08-05+12:00:20', 'start_time=2026-08-05T12:00:20Z'],
  ['end_time=2026-08-05T12:01', 'end_time=2026-08-05T12:01:00Z'],
  ['end_time=2026-08-05+12:01', 'end_time=2026-08-05T12:01:00Z'],
  ['end_time=2026-08-05T12:01Z', 'end_time=2026-08-05T12:01:00Z'],
  ['end_time=2026-08-05T14:01%2B02:00', 'end_time=2026-08-05T12:01:00Z'],
  ['end_time=2026-08-05T14:01:00+02:00', 'end_time=2026-08-05T12:01:00Z'],
  [`end_time=${at(41) / 1e6}`, `end_time=${at(41)}`],
  [`end_time=${at(41) / 1e6}.25`, `end_time=${at(41) + 250_000}`],
  ['order=DESC', 'order=desc'],
  ['time_format=EPOCH_US', 'time_format=epoch_us'],
  ['interval=1S', 'interval=1s'],
  ['clock=Source', 'clock=source'],
])('%s means %s', async (lenient, strict) => {
  const { ask } = await server()
  const expected = await ask(`${B}/snapshots?${strict}`)
  const given = await ask(`${B}/snapshots?${lenient}`)
  expect([given.status, given.text]).toEqual([200, expected.text])
})

it.each([
  [`${A}/timeseries?metric=CHANCE`, `${A}/timeseries?metric=chance`],
  ['/v3/venuea-prediction/markets?coin=Btc', '/v3/venuea-prediction/markets?coin=BTC'],
  [
    '/v3/venuea-prediction/markets?status=RESOLVED',
    '/v3/venuea-prediction/markets?status=resolved',
  ],
  ['/v3/markets?venue=VenueB&sort=VOLUME', '/v3/markets?venue=venueb&sort=volume'],
  ['/v3/gaps?reason=Recorder_Down', '/v3/gaps?reason=recorder_down'],
  [`${B}/execution?side=BUY&size=1`, `${B}/execution?side=buy&size=1`],
  [`${B}/trades?format=CSV`, `${B}/trades?format=csv`],
  [
    `/v3/bulk/manifest?venue=venueb&market_id=${B_MARKET}&formats=NDJSON,Csv&estimate=1`,
    `/v3/bulk/manifest?venue=venueb&market_id=${B_MARKET}&formats=ndjson,csv&estimate=true`,
  ],
])('%s means %s', async (lenient, strict) => {
  const { ask } = await server()
  const expected = await ask(strict)
  const given = await ask(lenient)
  expect([given.status, given.text]).toEqual([200, expected.text])
})

it.each([
  ['include_orderbook=yes', 'include_orderbook'],
  ['include_orderbook=2', 'include_orderbook'],
  ['include_orderbook=', 'include_orderbook'],
  ['start_time=05.08.2026', 'start_time'],
  ['start_time=2026-13-01', 'start_time'],
  ['start_time=2026-02-30', 'start_time'],
  ['start_time=2026-08-05T25:00', 'start_time'],
  ['start_time=12:00', 'start_time'],
  ['start_time=178641091', 'start_time'],
  ['start_time=17864109150', 'start_time'],
  ['start_time=yesterday', 'start_time'],
  ['order=down', 'order'],
  // Elsewhere an upper-case M means months.
  ['interval=1M', 'interval'],
])('%s is refused with a hint', async (query, param) => {
  const { ask } = await server()
  const answer = await ask(`${B}/snapshots?${query}`)
  const body = answer.json()
  expect([answer.status, body['code'], body['param']]).toEqual([400, 'invalid_parameter', param])
  expect(body['hint'] ?? body['allowed']).toBeDefined()
})

it('leaves out the row before a start that is a nanosecond later, and has the one before such an end', async () => {
  const { ask } = await server()
  const rowsOf = async (query: string): Promise<{ readonly received_time: string }[]> =>
    JSON.parse((await ask(`${B}/snapshots?${query}`)).text).data
  const all = await rowsOf('')
  const second = all[1]!.received_time
  const after = second.replace('Z', '001Z')
  expect(await rowsOf(`start_time=${second}`)).toEqual(all.slice(1))
  expect(await rowsOf(`start_time=${after}`)).toEqual(all.slice(2))
  expect(await rowsOf(`end_time=${second}`)).toEqual(all.slice(0, 1))
  expect(await rowsOf(`end_time=${after}`)).toEqual(all.slice(0, 2))
})
