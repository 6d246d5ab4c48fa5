import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, it, onTestFinished } from 'vitest'
import { ROUND_ID } from '../../packages/service/src/api/contracts/contract-tape.testing.ts'
import { ROUND, serveRound } from './served-round.ts'

// What people ask, as a model would ask the tools, with the parts of the answers that were written by hand from the
// script of the round. The official client checks every answer against the schema that the tool announces.
const T = (clock: string): string => `2026-11-17T17:${clock}Z`
const IN_GAP = T('30:35')
const AT = T('30:20')

type Question = {
  readonly asked: string
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** What the answer must have; others of its members may be there. */
  readonly answer?: object
  /** How a refusal begins. */
  readonly refusal?: RegExp
}

const QUESTIONS: readonly Question[] = [
  {
    asked: 'What do you have, and what may I read?',
    tool: 'what_is_recorded',
    input: { venue: 'venueb' },
    answer: {
      datasets: expect.arrayContaining([
        expect.objectContaining({
          dataset: 'books',
          first_time: T('30:10.000000'),
          capture_started_time: '2026-11-17T16:30:00.000000Z',
        }),
      ]),
      plan: { plan: 'unlimited', assets: null, history_days: null },
    },
  },
  {
    asked: 'Which bitcoin markets are open?',
    tool: 'find_markets',
    input: { q: 'btc', status: 'open' },
    answer: {
      rows: [
        { ...ROUND.a, best_bid: '0.48', best_ask: '0.52', outcomes: ['Up', 'Down'], gaps: 0 },
        { ...ROUND.b, best_bid: '0.41', best_ask: '0.44', outcomes: ['Yes', 'No'], gaps: 1 },
        { ...ROUND.c, best_bid: '0.4', best_ask: '0.6', outcomes: ['Up', 'Down'], gaps: 0 },
      ],
      more: null,
    },
  },
  {
    asked: 'Just show me one of them.',
    tool: 'find_markets',
    input: { asset: 'btc', limit: 1 },
    answer: { rows: [ROUND.a], more: expect.stringContaining('`continue`') },
  },
  {
    asked: 'Anything about elections?',
    tool: 'find_events',
    input: { q: 'election' },
    answer: { rows: [], notices: [{ code: 'no_events' }] },
  },
  {
    asked: 'What was the book of B twenty seconds into the round?',
    tool: 'book_at',
    input: { ...ROUND.b, at: AT },
    answer: {
      at: T('30:20.000000'),
      missing: null,
      books: [
        {
          bids: [{ price: '0.4', size: '10' }],
          asks: [{ price: '0.45', size: '20' }],
          mid: '0.425',
          spread: '0.05',
          age_ms: '10000',
          row_id: `venueb:${ROUND.b.market_id}:1`,
        },
      ],
    },
  },
  {
    asked: 'And fifteen seconds later?',
    tool: 'book_at',
    input: { ...ROUND.b, at: IN_GAP },
    answer: { books: [], missing: 'The connection was lost.' },
  },
  {
    asked: 'And the second after it came back, best level only?',
    tool: 'book_at',
    input: { ...ROUND.b, at: T('30:41'), depth: 1 },
    answer: {
      books: [
        {
          bids: [{ price: '0.41', size: '10' }],
          asks: [{ price: '0.44', size: '1' }],
          ask_levels: 3,
        },
      ],
      more: expect.stringContaining('`depth`'),
    },
  },
  {
    asked: 'What was it before the round?',
    tool: 'book_at',
    input: { ...ROUND.b, at: T('29:00') },
    answer: { books: [], missing: expect.stringMatching(/\w/) },
  },
  {
    asked: 'How did the price of C move?',
    tool: 'price_history',
    input: { ...ROUND.c, interval: '30s', outcome: 'Up' },
    answer: {
      rows: [
        { bucket_end: T('30:30.000000'), best_bid: '0.5', best_ask: '0.6', age_ms: 25_000 },
        { bucket_end: T('31:30.000000'), best_bid: '0.4', best_ask: '0.6', age_ms: 30_000 },
      ],
    },
  },
  {
    asked: 'And that of B around the hole?',
    tool: 'price_history',
    input: { ...ROUND.b, interval: '5s' },
    answer: {
      rows: [
        { bucket_end: T('30:15.000000'), best_bid: '0.4' },
        { bucket_end: T('30:35.000000') },
        { bucket_end: T('30:45.000000'), best_bid: '0.41' },
      ],
      gaps: [
        {
          start_time: T('30:30.000000'),
          end_time: T('30:40.000000'),
          reason: 'disconnected',
        },
      ],
    },
  },
  {
    asked: 'Who traded on A?',
    tool: 'trades',
    input: ROUND.a,
    answer: { rows: [], notices: [{ code: 'trades_not_reconstructed' }] },
  },
  {
    asked: 'What is missing, anywhere?',
    tool: 'gaps',
    input: {},
    answer: {
      rows: [
        {
          key: ROUND.b.market_id,
          reason: 'disconnected',
          meaning: 'The connection was lost.',
          start_time: T('30:30.000000'),
          end_time: T('30:40.000000'),
        },
      ],
    },
  },
  {
    asked: 'How good is the recording of B?',
    tool: 'coverage',
    input: ROUND.b,
    answer: {
      books: [{ observations: 3, losses: 1, days: [{ day: '2026-11-17', condition: 'degraded' }] }],
    },
  },
  {
    asked: 'Which rounds trade on several venues, and are they the same?',
    tool: 'find_contracts',
    input: { asset: 'btc', window: '15m' },
    answer: {
      rows: [
        {
          contract_id: ROUND_ID,
          comparison: 'equivalent_except',
          members: [
            { ...ROUND.a, yes: 'Up' },
            { ...ROUND.b, yes: 'Yes' },
            { ...ROUND.c, yes: 'Up' },
          ],
        },
      ],
    },
  },
  {
    asked: 'Who was cheapest after fees, and was there an edge?',
    tool: 'compare_venues',
    input: { contract_id: ROUND_ID, at: AT },
    answer: {
      // B charges 0.07 × p × (1 − p): 0.45 + 0.017325. C: 0.5 − 0.07 × 0.25 = 0.4825, so No costs 0.5175.
      members: [
        { ...ROUND.a, best_ask: '0.52' },
        { ...ROUND.b, net_ask: '0.467325', net_bid: '0.3832' },
        { ...ROUND.c, net_bid: '0.4825' },
      ],
      pair: { yes_at: 'venueb', no_at: 'venuec', edge: '0.015175' },
      order: null,
    },
  },
  {
    asked: 'And while B was away?',
    tool: 'compare_venues',
    input: { contract_id: ROUND_ID, at: IN_GAP, size: '5', side: 'buy' },
    answer: {
      members: [
        { best_ask: '0.52', missing: null },
        { best_ask: null, missing: 'The connection was lost.' },
        { best_ask: '0.6', missing: null },
      ],
      order: { filled_size: '5', is_complete: true },
    },
  },
  {
    asked: 'What would ten shares of A have cost?',
    tool: 'execution_quote',
    input: { ...ROUND.a, side: 'buy', size: '10', at: AT },
    answer: {
      // 5 × 0.52 + 5 × 0.55.
      execution: { cost: '5.35', vwap: '0.535', evidence: { row_id: 'venuea:8691520:1' } },
      missing: null,
    },
  },
  {
    asked: 'And a thousand of B inside the hole?',
    tool: 'execution_quote',
    input: { ...ROUND.b, side: 'buy', size: '1000', at: IN_GAP },
    answer: { execution: null, missing: 'The connection was lost.' },
  },
  {
    asked: 'Give me all of B as a file.',
    tool: 'download_link',
    input: { venue: 'venueb', market_id: ROUND.b.market_id, format: 'csv' },
    answer: {
      rows: 3,
      url: expect.stringMatching(/\/v3\/bulk\?venue=venueb&market_id=KXBTC15M.*&format=csv$/),
      command: expect.stringContaining('$PRIORBOOK_KEY'),
    },
  },
  {
    asked: 'What does sequence_break mean?',
    tool: 'explain_error',
    input: { code: 'sequence_break' },
    answer: { codes: [{ kind: 'reason of a gap', meaning: expect.stringContaining('missing') }] },
  },
  {
    asked: 'And a market that does not exist?',
    tool: 'book_at',
    input: { venue: 'venueb', market_id: 'NOPE' },
    refusal: /^unknown_market: .*NOPE/,
  },
  {
    asked: 'And a venue that does not exist?',
    tool: 'book_at',
    input: { venue: 'venuez', market_id: 'NOPE' },
    refusal: /^invalid_parameter: .*venuea, venueb, venuec/,
  },
  {
    asked: 'And a word that no tool knows?',
    tool: 'gaps',
    input: { marke: 'x' },
    refusal: /^invalid_parameter: .*it knows limit, continue, venue, market/,
  },
]

it('answers what people ask, exactly', async () => {
  const { url, keyOf } = await serveRound()
  const headers = { authorization: `Bearer ${keyOf('unlimited')}` }
  const client = new Client({ name: 'questions', version: '1.0.0' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  )
  onTestFinished(() => client.close())
  // The client learns the schemas of answers from the list, and refuses answers that are not as announced.
  await client.listTools()
  const wrong: string[] = []
  for (const { asked, tool, input, answer, refusal } of QUESTIONS) {
    const got = await client.callTool({ name: tool, arguments: { ...input } })
    const [first] = got.content as readonly { readonly text: string }[]
    const seen = got.isError === true ? first!.text : got.structuredContent
    const isRight =
      refusal === undefined
        ? matches(seen, answer!) && matches(JSON.parse(first!.text), seen as object)
        : typeof seen === 'string' && refusal.test(seen)
    if (!isRight) wrong.push(`${asked} ${JSON.stringify(seen)}`)
  }
  expect(wrong).toEqual([])
})

function matches(seen: unknown, answer: object): boolean {
  try {
    expect(seen).toMatchObject(answer)
    return true
  } catch {
    return false
  }
}

it('continues a list where it ended', async () => {
  const { url, keyOf } = await serveRound()
  const headers = { authorization: `Bearer ${keyOf('unlimited')}` }
  const client = new Client({ name: 'pages', version: '1.0.0' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  )
  onTestFinished(() => client.close())
  const ids: string[] = []
  let mark: string | null = ''
  while (mark !== null) {
    const more = mark === '' ? {} : { continue: mark }
    const question = { asset: 'btc', limit: 1, ...more }
    const got = await client.callTool({ name: 'find_markets', arguments: question })
    const page = got.structuredContent as {
      readonly rows: readonly { readonly market_id: string }[]
      readonly continue: string | null
    }
    ids.push(...page.rows.map((row) => row.market_id))
    mark = page.continue
  }
  expect(ids).toEqual(Object.values(ROUND).map((market) => market.market_id))
})
