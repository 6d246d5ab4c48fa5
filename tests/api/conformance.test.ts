import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { printMicros, type Micros } from '@priorbook/sdk/domain'
import { WINDOW_MS } from '../../packages/emulator/src/world/families.ts'
import { speedToEndIn } from '../capture/emulated-speed.ts'
import { check, spoil, type Body, type Statement, type Words } from './conformance-check.ts'
import { DOCUMENT } from './conformance-document.ts'
import { INTERFACE } from './conformance-interface.ts'
import { RESOURCES } from './conformance-resources.ts'
import { openEmulatedApi, type EmulatedApi, type Reply } from './emulated-api.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

const BASES = ['venuea-prediction', 'venuea-alias']
const STATEMENTS = [...INTERFACE, ...RESOURCES]

/**
 * What nothing can be asked about: the live feed is no part of this interface, and the rest is "not
 * shown". Versioning 2, the alias, is that all statements hold for both base paths.
 */
const NOT_ASKED = [
  'Service 10',
  'A record, rule 2',
  'States 2',
  'States 3',
  'Endpoints 4',
  'Authentication 5',
  'Events 1',
  'Events 2',
  'Versioning 2',
  'Versioning 4',
]

let api: EmulatedApi
let words: Words

beforeAll(async () => {
  api = await openEmulatedApi({
    ms: 2000,
    speed: speedToEndIn(80, WINDOW_MS['15m'], 1500),
    // Every venue must have shown the end of a market.
    async until(store) {
      for (const venue of EMULATED_VENUES) {
        const { markets } = await store.markets({ venue, status: 'resolved', limit: 100 })
        if (!markets.some(({ record }) => record.winningOutcome !== undefined)) return false
      }
      return (await findSampled(store)) !== undefined
    },
  })
  words = await findWords(api)
}, 180_000)

afterAll(() => api.close())

describe('the interface document', () => {
  it('is asked about statement by statement', () => {
    const asked = new Set(STATEMENTS.map(({ place }) => place.split(':')[0]!))
    expect(DOCUMENT.filter((place) => !asked.has(place))).toEqual([])
    expect([...asked].filter((place) => !DOCUMENT.includes(place))).toEqual([])
    expect(NOT_ASKED.filter((place) => asked.has(place))).toEqual([])
  })

  for (const base of BASES) {
    it(`holds on /v3/${base} and beside it`, async () => {
      const broken: string[] = []
      for (const statement of STATEMENTS) {
        if (base !== BASES[0] && !statement.ask.includes('{A}')) continue
        const asked = fill(statement, base)
        const wrongs = check(asked, await ask(asked), words)
        broken.push(...wrongs.slice(0, 2).map((wrong) => `${asked.place} (${asked.ask}) ${wrong}`))
      }
      expect(broken).toEqual([])
    })
  }

  it('gives the same bytes on both base paths', async () => {
    const [left, right] = BASES as [string, string]
    const end = `end_time=${words['a_middle']}`
    for (const path of [
      'markets?limit=1000',
      '{a}',
      '{a}/orderbook/latest',
      `{a}/snapshots?limit=7&${end}`,
      `{a}/timeseries?metric=chance&${end}`,
      `{a}/trades?${end}`,
    ]) {
      const one = await api.get(put(`/v3/${left}/${path}`))
      const two = await api.get(put(`/v3/${right}/${path}`))
      expect([two.status, Buffer.from(two.bytes).toString()]).toEqual([
        200,
        Buffer.from(one.bytes).toString(),
      ])
    }
    // A page that another one follows, however few rows there are.
    const page = `{a}/snapshots?limit=1&end_time=${words['a_last']}`
    const first = await api.get(put(`/v3/${left}/${page}`))
    const { next_cursor } = (first.body as Body).pagination
    expect(next_cursor).toBeTypeOf('string')
    const onward = `/v3/${right}/${page}&cursor=${next_cursor}`
    expect((await api.get(put(onward))).status).toBe(200)
  })

  it('is not met by spoiled answers', async () => {
    const missed: string[] = []
    for (const statement of STATEMENTS) {
      const asked = fill(statement, BASES[0]!)
      const reply = await ask(asked)
      for (const wrong of [undefined, ...asked.wrong]) {
        const spoiled = spoil(asked, reply, wrong)
        if (check(asked, spoiled, words).length === 0) {
          missed.push(`${asked.place} passes with ${JSON.stringify(wrong)}`)
        }
      }
    }
    expect(missed).toEqual([])
  })

  it('leaves no error in the log', () => {
    expect(api.errors).toEqual([])
  })
})

const replies = new Map<string, Reply>()

const PLANS = ['explorer', 'quant']

// One request serves all statements about it. Each gets a key of its own: Explorer has few requests.
async function ask({ ask: url, key, method = 'GET' }: Statement): Promise<Reply> {
  const name = `${method} ${url} ${key}`
  const known = replies.get(name)
  if (known !== undefined) return known
  const whose = key !== undefined && PLANS.includes(key) ? api.keyOf(key) : key
  const reply = await api.get(await withCursor(url), {
    method,
    ...(whose === undefined ? {} : { key: whose === 'none' ? null : whose }),
  })
  replies.set(name, reply)
  return reply
}

async function withCursor(url: string): Promise<string> {
  if (!url.includes('{cursor}')) return url
  const { body } = await api.get(url.replace('&cursor={cursor}', ''))
  return url.replace('{cursor}', (body as Body).pagination.next_cursor)
}

// Puts what was recorded into a statement.
function fill(statement: Statement, base: string): Statement {
  const { is, ask: url, wrong } = statement
  return {
    ...statement,
    ask: put(url.replaceAll('{A}', base)),
    is: typeof is === 'string' ? put(is) : is,
    wrong: wrong.map((value) => (typeof value === 'string' ? put(value) : value)),
  }
}

function put(text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? `{${name}}`)
}

async function findWords({ store, busiest }: EmulatedApi): Promise<Words> {
  const { venuea: a, venueb: b, venuec: c } = busiest
  const ended = async (venue: (typeof EMULATED_VENUES)[number]) => {
    const { markets } = await store.markets({ venue, status: 'resolved', limit: 1000 })
    return markets
      .map(({ record }) => record)
      .find((record) => record.winningOutcome !== undefined)!
  }
  const doneA = await ended('venuea')
  const doneB = await ended('venueb')
  return {
    a: a.key,
    a_rows: String(a.rows),
    a_last: String(a.last),
    a_middle: String(Math.floor((a.first + a.last) / 2)),
    a_sampled: (await findSampled(store))!,
    a_done: doneA.marketId,
    a_winner: doneA.winningOutcome!,
    b: b.key,
    b_open: printMicros(b.record.openTime as Micros),
    b_close: printMicros(b.record.closeTime as Micros),
    b_done: doneB.marketId,
    series: b.record.seriesTicker!,
    c: c.record.marketId,
    C: c.path,
  }
}

// A market of which all three metrics were seen.
async function findSampled(store: EmulatedApi['store']): Promise<string | undefined> {
  const { markets } = await store.markets({ venue: 'venuea', limit: 1000 })
  for (const { record } of markets) {
    const key = record.outcomes[0]?.tokenId ?? ''
    const query = { venue: 'venuea', key, order: 'asc', limit: 1 } as const
    const { ordinals } = await store.samples({ ...query, metric: 'last_trade' })
    if (ordinals.length > 0) return record.marketId
  }
  return undefined
}
