import { describe, expect, it } from 'vitest'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { createTestServer, type TestServer } from '../server.testing.ts'
import { createBatches, PATHS, readDirectly, readSeen, render, rowsOf } from './books.testing.ts'

async function createServer(): Promise<TestServer & { readonly key: string }> {
  const server = await createTestServer()
  const { batches } = createBatches(81, 200)
  await Promise.all(batches.map((batch) => server.store.append(batch)))
  await server.store.seal()
  return { ...server, key: server.keyOf('unlimited') }
}

describe('books over HTTP', () => {
  it('stay apart when many are asked for at once', async () => {
    const { store, ask, key } = await createServer()
    const asked: { readonly url: string; readonly rows: string }[] = []
    for (const venue of VENUE_IDS) {
      const seen = await readSeen(store, venue)
      for (let first = 0; first + 30 < seen.length; first += 11) {
        const order = first % 2 === 0 ? 'asc' : 'desc'
        const [start, end] = [seen[first]!.received, seen[first + 30]!.received + 1]
        const parts = seen
          .filter(({ received }) => received >= start && received < end)
          .map(({ part }) => part)
        asked.push({
          url: `${PATHS[venue]}/snapshots?include_orderbook=true&limit=1000&order=${order}&start_time=${start}&end_time=${end}`,
          rows: render(parts, venue, { ladders: true, order }),
        })
      }
    }
    expect(asked.length).toBeGreaterThan(40)
    const answers = await Promise.all(asked.map(({ url }) => ask(url, { key })))
    expect(answers.map(({ text }) => rowsOf(text))).toEqual(asked.map(({ rows }) => rows))
  })

  it('come on both base paths of A, with the same bytes and the same tag', async () => {
    const { store, ask, key } = await createServer()
    const seen = await readSeen(store, 'venuea')
    const query = `snapshots?start_time=${seen[12]!.received}&end_time=${seen[20]!.received + 1}`
    const own = await ask(`${PATHS.venuea}/${query}`, { key })
    const alias = await ask(`/v3/venuea-alias/5001/${query}`, { key })
    expect(own.status).toBe(200)
    expect(alias.text).toBe(own.text)
    expect(own.headers['cache-control']).toContain('immutable')
    const tag = own.headers['etag']!
    const again = await ask(`${PATHS.venuea}/${query}`, { key, headers: { 'if-none-match': tag } })
    expect([again.status, again.headers['etag']]).toEqual([304, tag])
  })

  it('walk by Link where there is no envelope', async () => {
    const { store, ask, key } = await createServer()
    const expected = await readDirectly(store, 'venueb', { ladders: false })
    const rows: string[] = []
    let url: string | undefined = `${PATHS.venueb}/snapshots?format=ndjson&limit=70`
    for (let page = 0; url !== undefined; page++) {
      const { text, headers } = await ask(url, { key })
      const lines = text.split('\n').filter((line) => line.startsWith('{"type":"book",'))
      rows.push(...lines.map((line) => line.replace('"type":"book",', '')))
      url = /<(.+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
      expect(page).toBeLessThan(50)
    }
    expect(rows.join(',')).toBe(expected)
  })

  it('are refused as problems with the venue’s plan and the right market named', async () => {
    const { ask, key, keyOf } = await createServer()
    const explorer = keyOf('explorer')
    const refused = await ask(`${PATHS.venuea}/snapshots`, { key: explorer })
    expect([refused.status, refused.json()['code']]).toEqual([403, 'plan_required'])
    const unknown = await ask('/v3/venueb/kxeth-26aug05/orderbook/latest', { key })
    expect([unknown.status, unknown.json()['code']]).toEqual([404, 'unknown_market'])
    expect(unknown.json()['hint']).toContain('KXETH-26AUG05')
    expect((await ask(`${PATHS.venueb}/snapshots`)).status).toBe(401)
  })
})
