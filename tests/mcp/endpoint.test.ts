import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ROUND_ID } from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { ROUND, serveRound } from './served-round.ts'

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

async function serve(plan = 'unlimited') {
  const { url, keyOf, logs } = await serveRound()
  const key = keyOf(plan)
  const post = (body: string, more: Readonly<Record<string, string>> = {}) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      body,
      headers: { ...HEADERS, authorization: `Bearer ${key}`, ...more },
    })
  const connect = async () => {
    const client = new Client({ name: 'endpoint', version: '1.0.0' })
    const headers = { authorization: `Bearer ${key}` }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
    )
    onTestFinished(() => client.close())
    return client
  }
  return { url, key, logs, post, connect }
}

describe('/mcp', () => {
  it('needs a key, and says so as every route does', async () => {
    const { post } = await serve()
    for (const authorization of ['', 'Bearer pb_live_000000000000000000000000000000000000']) {
      const answer = await post(LIST, { authorization })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain('Bearer')
      expect(await answer.json()).toMatchObject({ status: 401 })
    }
  })

  it('takes only POST, one JSON message of bounded size', async () => {
    const { url, key, post } = await serve()
    const get = await fetch(`${url}/mcp`, { headers: { authorization: `Bearer ${key}` } })
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
    const broken = await post('{"jsonrpc":')
    expect([broken.status, await broken.json()]).toMatchObject([400, { code: 'invalid_parameter' }])
    const strange = await post('{"hello":1}')
    expect(strange.status).toBe(400)
    const list = await post(`[${LIST}]`)
    expect([list.status, await list.json()]).toMatchObject([400, { code: 'invalid_parameter' }])
    const large = await post(JSON.stringify({ text: 'x'.repeat(300_000) }))
    expect([large.status, await large.json()]).toMatchObject([413, { code: 'body_too_large' }])
  })

  it('keeps to the plan of the key: what REST withholds, tools withhold', async () => {
    const { connect } = await serve('explorer')
    const client = await connect()
    const plan = await client.callTool({ name: 'what_is_recorded', arguments: {} })
    expect(plan.structuredContent).toMatchObject({ plan: { plan: 'explorer' } })
    const { structuredContent } = await client.callTool({
      name: 'find_contracts',
      arguments: { asset: 'btc' },
    })
    const { rows } = structuredContent as { rows: { members: { venue: string }[] }[] }
    const venues = new Set(rows.flatMap(({ members }) => members.map(({ venue }) => venue)))
    const { venues: own } = (plan.structuredContent as { plan: { venues: string[] } }).plan
    for (const venue of venues) expect(own).toContain(venue)
  })

  it('counts the requests of tools, and tells a model when to ask again', async () => {
    const { connect } = await serve('explorer')
    const client = await connect()
    const ask = () => client.callTool({ name: 'gaps', arguments: {} })
    const answers = await Promise.allSettled(Array.from({ length: 200 }, ask))
    const texts = answers.map((answer) =>
      answer.status === 'rejected'
        ? String(answer.reason)
        : (answer.value.content as readonly { readonly text: string }[])[0]!.text,
    )
    expect(texts.some((text) => text.includes('rate_limited'))).toBe(true)
  })

  it('serves many clients at once, each with its own answers', async () => {
    const { connect } = await serve()
    const clients = await Promise.all(Array.from({ length: 8 }, connect))
    const answers = await Promise.all(
      clients.flatMap((client) =>
        Object.values(ROUND).map(async (market) => {
          const question = { ...market, at: '2026-11-17T17:30:20Z' }
          const { structuredContent } = await client.callTool({
            name: 'book_at',
            arguments: question,
          })
          const [book] = (structuredContent as { books: { row_id: string }[] }).books
          return [market.venue, book!.row_id.split(':')[0]]
        }),
      ),
    )
    expect(answers).toHaveLength(24)
    for (const [asked, got] of answers) expect(got).toBe(asked)
  })

  it('logs the routes that tools use, and no key', async () => {
    const { connect, logs, key } = await serve()
    const client = await connect()
    const question = { contract_id: ROUND_ID, at: '2026-11-17T17:30:20Z' }
    await client.callTool({ name: 'compare_venues', arguments: question })
    const text = logs.join('\n')
    expect(text).toContain('contract_consolidated')
    expect(text).toContain('"mcp"')
    expect(text).not.toContain(key)
  })
})

describe('what a model can read', () => {
  it('lists documents, schemas and prompts, and gives each of them', async () => {
    const { connect } = await serve()
    const client = await connect()
    const { resources } = await client.listResources()
    expect(resources.map(({ name }) => name)).toEqual([
      'openapi',
      'asyncapi',
      'routes',
      'codes',
      'gap-reasons',
    ])
    for (const { uri, mimeType } of resources) {
      const { contents } = await client.readResource({ uri })
      expect(contents[0]).toMatchObject({ uri, mimeType })
      expect((contents[0] as { text: string }).text.length).toBeGreaterThan(200)
    }
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates[0]!.uriTemplate).toBe('priorbook://schemas/{name}')
    const { contents } = await client.readResource({ uri: 'priorbook://schemas/Gap' })
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ type: 'object' })
    await expect(client.readResource({ uri: 'priorbook://schemas/Nope' })).rejects.toThrow('Nope')
    await expect(client.callTool({ name: 'nope', arguments: {} })).rejects.toThrow('no tool nope')
  })

  it('writes out common questions, and says which argument is missing', async () => {
    const { connect } = await serve()
    const client = await connect()
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual([
      'compare_a_round',
      'check_a_fill',
      'explain_a_hole',
      'what_happened',
    ])
    const { messages } = await client.getPrompt({
      name: 'explain_a_hole',
      arguments: { market: 'venueb:X' },
    })
    expect(JSON.stringify(messages)).toContain('venueb:X')
    await expect(client.getPrompt({ name: 'explain_a_hole' })).rejects.toThrow('needs market')
  })
})
