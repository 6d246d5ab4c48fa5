import { connect } from 'node:net'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createTestServer, type TestServer } from '../server.testing.ts'
import { createBatches, PATHS, readDirectly, readSeen, render, rowsOf } from './books.testing.ts'
import { SCRIPTED_VENUES } from '../../store/store-script.testing.ts'

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
    for (const venue of SCRIPTED_VENUES) {
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

  it('stay apart when clients go away, read late or take them packed', async () => {
    const { server, ask, key } = await createServer()
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
    const pages = SCRIPTED_VENUES.flatMap((venue) =>
      ['asc', 'desc'].flatMap((order) =>
        [900, 950, 1000].map(
          (limit) =>
            `${PATHS[venue]}/snapshots?include_orderbook=true&order=${order}&limit=${limit}&end_time=2030-01-01T00:00:00Z`,
        ),
      ),
    )
    const expected: string[] = []
    for (const page of pages) expected.push(rowsOf((await ask(page, { key })).text))
    const encodings = ['identity', 'gzip', 'zstd'] as const
    const visits = Array.from({ length: 12 }, async (_, visit) => {
      const asked = Array.from({ length: 12 }, (_none, turn) => (visit * 7 + turn) % pages.length)
      const encoding = encodings[visit % 3]!
      const texts = asked.map(
        (page) =>
          `GET ${pages[page]} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\naccept-encoding: ${encoding}\r\n\r\n`,
      )
      // Every fourth leaves in the middle; the others let more wait than sockets hold, and read then.
      const isLeaving = visit % 4 === 3
      const bodies = await talk(port, texts, isLeaving)
      if (isLeaving) return
      const read = bodies.map((body) => rowsOf(unpack(body, encoding).toString()))
      expect(read).toEqual(asked.map((page) => expected[page]!))
    })
    await Promise.all(visits)
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

// Sends all requests at once and reads the answers late; one that leaves reads a few bytes alone.
function talk(port: number, texts: readonly string[], isLeaving: boolean): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', reject)
    socket.pause()
    socket.write(texts.join(''))
    setTimeout(() => {
      if (!isLeaving) socket.resume()
      else {
        socket.destroy()
        resolve([])
      }
    }, 200)
    const bodies: Buffer[] = []
    let pending = Buffer.alloc(0)
    socket.on('data', (piece: Buffer) => {
      pending = Buffer.concat([pending, piece])
      for (;;) {
        const head = pending.indexOf('\r\n\r\n')
        if (head === -1) return
        const length = /content-length: (\d+)/i.exec(pending.toString('latin1', 0, head))![1]!
        const end = head + 4 + Number(length)
        if (pending.length < end) return
        bodies.push(Buffer.from(pending.subarray(head + 4, end)))
        pending = pending.subarray(end)
        if (bodies.length < texts.length) continue
        socket.destroy()
        resolve(bodies)
        return
      }
    })
  })
}

function unpack(body: Buffer, encoding: 'identity' | 'gzip' | 'zstd'): Buffer {
  if (encoding === 'identity') return body
  return encoding === 'gzip' ? gunzipSync(body) : zstdDecompressSync(body)
}
