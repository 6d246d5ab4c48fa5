import { STREAM_ERRORS, STREAM_MESSAGE_SCHEMAS, STREAM_REQUEST_SCHEMAS } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { createTestServer } from '../server.testing.ts'
import { parseSubscribe, STREAM_OPS } from '../stream/request.ts'

describe('the AsyncAPI document', () => {
  it('is public, and all of its references resolve', async () => {
    const { ask } = await createTestServer()
    const answer = await ask('/v3/asyncapi.json')
    expect([answer.status, answer.json()['asyncapi']]).toEqual([200, '3.0.0'])
    const refs = [...answer.text.matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    const count = STREAM_OPS.length + Object.keys(STREAM_MESSAGE_SCHEMAS).length
    expect(refs.length).toBeGreaterThan(count)
    for (const ref of refs) {
      let at: unknown = answer.json()
      for (const name of ref.replace('#/', '').split('/')) {
        at = (at as Record<string, unknown>)[name]
      }
      expect([ref, typeof at]).toEqual([ref, 'object'])
    }
    const llms = (await ask('/llms.txt')).text
    for (const word of [...STREAM_OPS, ...Object.keys(STREAM_ERRORS)]) {
      expect(llms).toContain(`\`${word}\``)
    }
    expect((await ask('/docs/errors')).text).toContain('id="slow_reader"')
    expect((await ask('/docs')).text).toContain('/v3/asyncapi.json')
  })

  it('has every operation, with the members that its parser accepts', () => {
    expect(Object.keys(STREAM_REQUEST_SCHEMAS).sort()).toEqual([...STREAM_OPS].sort())
    const { properties } = STREAM_REQUEST_SCHEMAS.subscribe as { properties: object }
    const values: Record<string, unknown> = {
      op: 'subscribe',
      id: 's',
      venue: 'venueb',
      series: 'S',
      asset: 'btc',
      window: '15m',
      datasets: ['books'],
      mode: 'full',
      depth: 5,
      number_format: 'string',
      time_format: 'epoch_us',
      conflate_ms: 100,
      resume: { K: 5, 'K/trade': 2 },
    }
    const names = [...Object.keys(values), 'market_id']
    expect(names.sort()).toEqual(Object.keys(properties).sort())
    expect(parseSubscribe({ ...values, op: 'subscribe' })).toMatchObject({
      selector: { venue: 'venueb', series: 'S', asset: 'btc', window: '15m' },
      depth: 5,
      conflateMs: 100,
      style: { numberFormat: 'string', timeFormat: 'epoch_us' },
      resume: { books: new Map([['K', 5]]), trades: new Map([['K', 2]]) },
    })
  })
})
