import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createClient,
  IncompleteWalkError,
  PriorbookApiError,
  PriorbookClientError,
  type ClientOptions,
  type PriorbookClient,
} from './index.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const servers: Server[] = []
const FAST = { retries: 5, baseDelayMs: 1, maxDelayMs: 5 }
const MARKET = { venue: 'venueb', market_id: 'T-1' } as const

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A client of a server that gives these answers, one a request; the last one again and again. */
async function serve(
  answers: readonly Answer[],
  options: Partial<ClientOptions> = {},
): Promise<{ client: PriorbookClient; asked: { url: string; at: number; key: unknown }[] }> {
  const asked: { url: string; at: number; key: unknown }[] = []
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    asked.push({ url, at: performance.now(), key: headers.authorization })
    answers[Math.min(asked.length, answers.length) - 1]!(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { client: createClient({ url, key: 'pb_live_x', retries: FAST, ...options }), asked }
}

const meta = { count: 0, range: null, gaps: [], market: null, schema_version: '3.0' }

function page(ids: readonly (string | undefined)[], next: string | null, receipt?: object): Answer {
  const body = {
    data: ids.map((id) => ({ id })),
    meta: { ...meta, count: ids.length, ...(receipt && { receipt }) },
    pagination: { next_cursor: next, has_more: next !== null },
  }
  return (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.setHeader('x-request-id', 'r-1')
    response.end(JSON.stringify(body))
  }
}

function problem(status: number, body: object, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    response.end(JSON.stringify({ title: 'No.', detail: 'not so', status, ...body }))
  }
}

function receiptOf(ids: readonly string[]): object {
  const sequences = ids.map((id) => Number(id.split(':')[2]))
  const [first, last] = [Math.min(...sequences), Math.max(...sequences)]
  const instruments = [{ key: 'T-1', first, last, rows: ids.length, head: null }]
  return { rows: ids.length, gaps: 0, instruments }
}

const drop: Answer = (request) => request.socket.destroy()
const cut: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"data":[')
  setTimeout(() => response.destroy(), 5)
}
const halfJson: Answer = (_request, response) => response.end('{"data":[{"id":"a"}')

const ids = [1, 2, 3, 4, 5].map((sequence) => `venueb:T-1:${sequence}`)
const PAGES = [
  page(ids.slice(0, 2), 'c1'),
  page(ids.slice(2, 4), 'c2'),
  page(ids.slice(4), null, receiptOf(ids)),
] as const

describe('a walk', () => {
  it('goes from page to page by cursor and proves its rows', async () => {
    const { client, asked } = await serve(PAGES)
    const rows = await client.market(MARKET).snapshots({ depth: 2 }).toArray()
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(asked.map(({ url }) => url)).toEqual([
      '/v3/venueb/T-1/snapshots?limit=1000&depth=2',
      '/v3/venueb/T-1/snapshots?limit=1000&depth=2&cursor=c1',
      '/v3/venueb/T-1/snapshots?limit=1000&depth=2&cursor=c2',
    ])
    expect(asked[0]!.key).toBe('Bearer pb_live_x')
  })

  it('goes on from the last cursor after drops, cuts, 5xx and 429', async () => {
    const retries: string[] = []
    const { client, asked } = await serve(
      [
        drop,
        PAGES[0],
        cut,
        problem(503, { code: 'store_unavailable' }),
        halfJson,
        PAGES[1],
        problem(429, { code: 'rate_limited' }, { 'retry-after': '0' }),
        PAGES[2],
      ],
      { onRetry: ({ error }) => retries.push((error as PriorbookClientError).code) },
    )
    const rows = await client.market(MARKET).snapshots().toArray()
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(asked).toHaveLength(8)
    expect(retries).toEqual([
      'network_failed',
      'network_failed',
      'store_unavailable',
      'bad_answer',
      'rate_limited',
    ])
  })

  it('waits as long as Retry-After says', async () => {
    const { client, asked } = await serve([
      problem(429, { code: 'rate_limited' }, { 'retry-after': '0.3' }),
      ...PAGES,
    ])
    await client.market(MARKET).snapshots().toArray()
    expect(asked[1]!.at - asked[0]!.at).toBeGreaterThanOrEqual(295)
  })

  it('does not wait for hours', async () => {
    const { client, asked } = await serve([
      problem(429, { code: 'rate_limited' }, { 'retry-after': '7200' }),
    ])
    const error = await failure(client.whoami())
    expect(error).toMatchObject({ code: 'rate_limited', status: 429, retryAfter: 7200 })
    expect(asked).toHaveLength(1)
  })

  it('says what is missing where the receipt does not hold', async () => {
    const { client } = await serve([PAGES[0], PAGES[2]])
    const error = await failure(client.market(MARKET).snapshots().toArray())
    expect(error).toBeInstanceOf(IncompleteWalkError)
    expect(error).toMatchObject({
      code: 'incomplete_walk',
      message: expect.stringContaining('2 of 5 rows did not arrive'),
      expected: { rows: 5 },
      received: { rows: 3 },
    })
  })

  it('finds rows that changed their order, were repeated or belong to another book', async () => {
    const arrived: readonly [readonly number[], RegExp][] = [
      [[1, 3, 2], /out of order: venueb:T-1:2 comes after 3/],
      [[1, 2, 2], /of T-1 3 rows from 1 to 3 were sent and 3 from 1 to 2 arrived/],
      [[3, 1, 3], /out of order: venueb:T-1:3 comes after 1/],
    ]
    const sent = receiptOf(ids.slice(0, 3))
    for (const [sequences, message] of arrived) {
      const rows = sequences.map((sequence) => `venueb:T-1:${sequence}`)
      const { client } = await serve([page(rows, null, sent)])
      const error = await failure(client.market(MARKET).changes().toArray())
      expect(String(error)).toMatch(message)
    }
    const { client } = await serve([page([...ids.slice(0, 2), 'venueb:T-2:3'], null, sent)])
    const error = await failure(client.market(MARKET).changes().toArray())
    expect(String(error)).toMatch(/T-2 is not in the receipt/)
  })

  it('takes a descending walk, and one of another server version without instruments', async () => {
    const down = ids.toReversed()
    const { client } = await serve([page(down, null, receiptOf(ids))])
    expect(await client.market(MARKET).snapshots({ order: 'desc' }).toArray()).toHaveLength(5)
    const old = { rows: 9, first_id: null, last_id: null, sha256: '0', gaps: 0 }
    const other = await serve([page(ids, null, old)])
    expect(await other.client.market(MARKET).snapshots().toArray()).toHaveLength(5)
  })

  it('counts the rows of a list, which have no ids', async () => {
    const two = await serve([page([undefined, undefined], null, { rows: 2, gaps: 0 })])
    expect(await two.client.markets().toArray()).toHaveLength(2)
    const three = await serve([page([undefined, undefined], null, { rows: 3, gaps: 0 })])
    const error = await failure(three.client.markets().toArray())
    expect(String(error)).toMatch(/1 of 3 rows did not arrive/)
  })

  it('is taken up by another process and still proves all rows', async () => {
    const { client } = await serve(PAGES)
    const first = await client.market(MARKET).snapshots().page()
    const again = await serve(PAGES.slice(1))
    const resume = JSON.parse(JSON.stringify(first.resume)) as string
    const rest = await again.client.market(MARKET).snapshots({}, { resume }).toArray()
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(2))
    expect(again.asked[0]!.url).toContain('cursor=c1')
    const older = JSON.stringify(['c1', { rows: 2, first_id: 'a', last_id: 'b', hash: '' }])
    const third = await serve(PAGES.slice(1))
    const unproved = third.client.market(MARKET).snapshots({}, { resume: older })
    expect(await unproved.toArray()).toHaveLength(3)
    const bad = failure(again.client.market(MARKET).snapshots({}, { resume: '{' }).toArray())
    expect(await bad).toMatchObject({ code: 'invalid_option' })
  })

  it('stops when it is told to', async () => {
    const { client, asked } = await serve([page(['a:1'], 'c'), page(['a:2'], 'd'), drop])
    const controller = new AbortController()
    const walk = client.market(MARKET).snapshots({}, { signal: controller.signal })
    const seen: string[] = []
    const error = await failure(
      (async () => {
        for await (const { id } of walk) {
          seen.push(id)
          if (seen.length === 2) controller.abort(new Error('enough'))
        }
      })(),
    )
    expect([seen, String(error)]).toEqual([['a:1', 'a:2'], 'Error: enough'])
    expect(asked).toHaveLength(2)
  })

  it('can be cut to a number of rows', async () => {
    const { client, asked } = await serve(PAGES)
    const rows: string[] = []
    for await (const { id } of client.market(MARKET).snapshots().take(3)) rows.push(id)
    expect(rows).toEqual(ids.slice(0, 3))
    expect(asked.map(({ url }) => url.split('?')[1])).toEqual(['limit=3', 'limit=3&cursor=c1'])
  })

  it('does not turn in circles', async () => {
    const { client } = await serve([page(['a:1'], 'c')])
    expect(await failure(client.gaps().toArray())).toMatchObject({ code: 'bad_answer' })
  })
})

describe('a download', () => {
  const begin: Answer = (_request, response) => {
    response.writeHead(200, { 'content-disposition': 'attachment; filename="a.csv"' })
    response.write('id,venue')
  }
  const scope = { venue: 'venueb', market_id: 'M', format: 'csv' } as const

  async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
    let text = ''
    for await (const piece of body) text += Buffer.from(piece).toString()
    return text
  }

  it('is opened again, and read to its end', async () => {
    const { client, asked } = await serve([
      problem(503, { code: 'store_unavailable' }),
      (request, response) => {
        begin(request, response)
        response.end('\n')
      },
    ])
    const { body, fileName } = await client.download({ ...scope, offset: 3 })
    expect([fileName, await read(body)]).toEqual(['a.csv', 'id,venue\n'])
    expect(asked[1]!.url).toBe('/v3/bulk?venue=venueb&market_id=M&offset=3&format=csv')
  })

  it('that stands still or breaks says so', async () => {
    const silent = await serve([begin])
    const still = await silent.client.download(scope, { idleTimeoutMs: 30 })
    await expect(read(still.body)).rejects.toMatchObject({
      code: 'network_failed',
      message: expect.stringContaining('nothing came for 30 ms'),
    })
    const { client } = await serve([
      (request, response) => {
        begin(request, response)
        setTimeout(() => response.destroy(), 20)
      },
    ])
    const broken = await client.download(scope)
    await expect(read(broken.body)).rejects.toMatchObject({ code: 'network_failed' })
  })

  it('ends with its signal', async () => {
    const { client } = await serve([begin])
    const controller = new AbortController()
    const { body } = await client.download(scope, { signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(read(body)).rejects.toThrow('enough')
  })
})

describe('an answer as it is', () => {
  const table: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv', link: '</v3/gaps?cursor=2>; rel="next"' })
    response.end('id\na\n')
  }

  it('is asked for again after 5xx, drops and cuts, with the key', async () => {
    const { client, asked } = await serve([problem(503, {}), drop, cut, table])
    const { body, headers } = await client.fetchRaw(`${client.url}/v3/gaps?format=csv&cursor=1`)
    expect([await body.text(), body.type]).toEqual(['id\na\n', 'text/csv'])
    expect(headers.get('link')).toContain('cursor=2')
    expect(asked.map(({ url }) => url)).toEqual(Array(4).fill('/v3/gaps?format=csv&cursor=1'))
    expect(asked.map(({ key }) => key)).toEqual(Array(4).fill('Bearer pb_live_x'))
  })

  it('fails with what the server says, where asking again does not help', async () => {
    const { client, asked } = await serve([problem(400, { code: 'invalid_cursor' })])
    await expect(client.fetchRaw(`${client.url}/v3/gaps?cursor=x`)).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
    expect(asked).toHaveLength(1)
  })

  it('is not asked of another service, which would get the key', async () => {
    const { client, asked } = await serve([table])
    for (const url of [`${client.url}0/v3/gaps`, 'http://other/v3/gaps', '/v3/gaps']) {
      await expect(client.fetchRaw(url)).rejects.toMatchObject({ code: 'invalid_option' })
    }
    expect(asked).toEqual([])
  })
})

describe('errors', () => {
  it('are those of the server, with all it says', async () => {
    const { client } = await serve([
      problem(404, {
        code: 'unknown_market',
        param: 'market_ticker',
        hint: 'H',
        request_id: 'r-9',
      }),
    ])
    const error = await failure(client.market(MARKET).record())
    expect(error).toBeInstanceOf(PriorbookApiError)
    expect(error).toMatchObject({
      code: 'unknown_market',
      status: 404,
      param: 'market_ticker',
      hint: 'H',
      requestId: 'r-9',
      message: 'not so',
    })
  })

  it('of a proxy that is no Priorbook have a code too', async () => {
    const { client } = await serve(
      [(_request, response) => response.writeHead(502).end('<html>bad gateway</html>')],
      { retries: { ...FAST, retries: 1 } },
    )
    expect(await failure(client.health())).toMatchObject({ code: 'http_502', status: 502 })
  })

  it('of an address that is another service say so', async () => {
    const { client } = await serve([(_request, response) => response.end('{"hello":1}')], {
      retries: 0,
    })
    expect(String(await failure(client.whoami()))).toMatch(/Priorbook server/)
  })

  it('tell of a server that takes too long', async () => {
    const { client, asked } = await serve([() => {}], {
      timeoutMs: 1000,
      retries: { ...FAST, retries: 1 },
    })
    expect(await failure(client.whoami())).toMatchObject({ code: 'timed_out' })
    expect(asked).toHaveLength(2)
  })

  it('tell of a server that is not there, and never the key', async () => {
    const client = createClient({ url: 'http://127.0.0.1:9', key: 'pb_live_secret', retries: 0 })
    const error = await failure(client.whoami())
    expect(error).toMatchObject({ code: 'network_failed' })
    expect(String(error)).toMatch(/ECONNREFUSED|bad port/)
    expect(JSON.stringify(error) + String(error)).not.toContain('secret')
  })

  it('refuse options that cannot work', () => {
    expect(() => createClient({})).toThrow(/url is missing/)
    expect(() => createClient({ url: 'nothing' })).toThrow(/not an address/)
    expect(() => createClient({ url: 'ftp://x' })).toThrow(/http/)
    expect(() => createClient({ url: 'http://key@x' })).toThrow(/never into the url/)
    expect(() => createClient({ url: 'http://x', key: 'a b' })).toThrow(/copy it again/)
    expect(() => createClient({ url: 'http://x', key: '' })).toThrow(/copy it again/)
  })
})

describe('addresses', () => {
  it('hold ids of any shape', async () => {
    const { client, asked } = await serve([page([], null)])
    await client.market({ venue: 'venueb', market_id: 'GTEMP-24-1.02/23' }).trades().toArray()
    await client.venueMarkets('venuec', { asset: 'BTC', start_time: new Date(0) }).toArray()
    await client.market({ venue: 'venuea', market_id: '7' }).timeseries({ metric: 'price' }).page()
    expect(asked.map(({ url }) => url)).toEqual([
      '/v3/venueb/GTEMP-24-1.02%2F23/trades?limit=1000',
      '/v3/btc/markets?limit=1000&start_time=1970-01-01T00%3A00%3A00.000Z',
      '/v3/venuea-prediction/7/timeseries?limit=1000&metric=price',
    ])
  })

  it('of the demo carry no key', async () => {
    const { client, asked } = await serve([page([], null)], { demo: true })
    await client.markets().page()
    expect(asked).toMatchObject([{ url: '/v3/demo/markets?limit=1000', key: undefined }])
    expect(client.streamUrl).toMatch(/^ws:.*\/v3\/demo\/stream$/)
  })

  it('take the style of the client where the route knows it', async () => {
    const { client, asked } = await serve([page([], null)], { number_format: 'string' })
    await client.gaps().page()
    await client.markets({ limit: 5 }).page()
    expect(asked.map(({ url }) => url)).toEqual([
      '/v3/gaps?limit=1000',
      '/v3/markets?limit=5&number_format=string',
    ])
  })
})

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
