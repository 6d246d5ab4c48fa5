import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { toMicros, type Gap, type GapReason } from '@priorbook/sdk/domain'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { toDataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { startServe, type ServeProcess } from './serve.testing.ts'

// The operators' port of a service, over HTTP and without a script, as its operators have it.

const TOKEN = 'test-token-of-an-operator-0123456789'
const BEGIN = Date.UTC(2026, 7, 10) * 1000
const OPEN_GAPS = 205
// Markup, a quotation mark, a byte that is not UTF-8, and a zero.
const RAW = Buffer.concat([Buffer.from('{"a":"<script>&\'é'), Buffer.from([0xff, 0, 10])])

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-operators-'))
let served: ServeProcess
let closed: ServeProcess

// Two services start, each with a worker.
vi.setConfig({ hookTimeout: 300_000, testTimeout: 120_000 })

beforeAll(async () => {
  const data = join(scratch, 'data')
  await writeTape(data)
  const args = ['--data', data, '--upstream', 'none', '--workers', '1']
  served = await startServe(scratch, args, { PRIORBOOK_OPS_TOKEN: TOKEN })
  closed = await startServe(scratch, args)
})
afterAll(async () => {
  await served?.end('SIGKILL')
  await closed?.end('SIGKILL')
  rmSync(scratch, { recursive: true, force: true })
})

/** Writes a tape with open gaps and quarantined messages. */
async function writeTape(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const store = openEmbeddedStore({ file: toDataFolder(folder).tape })
  const toGap = (key: string, reason: GapReason, at: number): Gap => ({
    venue: 'venueb',
    scope: 'instrument',
    key,
    reason,
    start: toMicros(BEGIN + at),
    afterSequence: 0,
    detail: `gap ${at}`,
    journal: 1,
  })
  const gaps = Array.from({ length: OPEN_GAPS }, (_, at) => toGap(`M${at}`, 'disconnected', at))
  const quarantine = [1, 2].map((journal) => ({
    venue: 'venueb' as const,
    key: '',
    journal,
    received: BEGIN + journal,
    code: 'invalid_message' as const,
    detail: `why <b>${journal}</b>`,
    raw: RAW,
  }))
  await store.append({
    venue: 'venueb',
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    position: 3,
    gaps: [
      ...gaps,
      toGap('M0', 'market_closed', 1),
      toGap('Q', 'quota', 2),
      { ...toGap('ENDED', 'disconnected', 3), end: toMicros(BEGIN + 9), endJournal: 2 },
    ],
    quarantine,
  })
  await store.close()
}

type Asked = {
  readonly method?: string
  readonly token?: string | undefined
  readonly form?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}

type Answered = {
  status: number
  headers: NodeJS.Dict<string | string[]>
  body: Buffer
  text: string
}

/** Asks the port, by default of the service with a token. */
function ask(path: string, asked: Asked = {}, service = served): Promise<Answered> {
  const { token, form, method = form === undefined ? 'GET' : 'POST' } = asked
  const password = Buffer.from(`operator:${token ?? ''}`).toString('base64')
  const headers = {
    ...(token === undefined ? {} : { authorization: `Basic ${password}` }),
    ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    ...asked.headers,
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${service.ops}${path}`, { method, headers, agent: false }, (answer) => {
      answer.toArray().then((parts: Buffer[]) => {
        const body = Buffer.concat(parts)
        const { statusCode: status = 0, headers: got } = answer
        resolve({ status, headers: got, body, text: body.toString() })
      }, reject)
    })
    sent.on('error', reject)
    sent.end(form === undefined ? undefined : new URLSearchParams(form).toString())
  })
}

/** The ticket inside the form of a page that sends to an address. */
async function ticketOf(path: string, action: string): Promise<string> {
  const { text } = await ask(path, { token: TOKEN })
  const form = text.slice(text.indexOf(`action="${action}"`))
  return /name="ticket" value="([^"]+)"/.exec(form)![1]!
}

/** Sends a form of a page, with its ticket. */
async function submit(path: string, action: string, form: Record<string, string> = {}) {
  return ask(action, { token: TOKEN, form: { ...form, ticket: await ticketOf(path, action) } })
}

const keyIn = (text: string): string => /pb_live_[0-9A-Za-z]{36}/.exec(text)![0]
const idIn = (text: string): string => /key_[0-9a-z]{12}/.exec(text)![0]

/** The status that the API gives to a key, once it is the expected one. */
async function untilStatus(key: string, expected: number): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${key}` }
    const { status } = await fetch(`${served.url}/v3/markets?limit=1`, { headers })
    if (status === expected) return
    expect([200, 401]).toContain(status)
    await pause(50)
  }
}

/** The first line of the use of a key; counts are written once a second. */
async function untilCounted(id: string): Promise<{ route: string; requests: number }> {
  for (;;) {
    const { text } = await ask(`/keys/${id}`, { token: TOKEN })
    const [, route, requests] = /<td>(\w+)<\/td><td class="number">([\d,]+)</.exec(text) ?? []
    if (route !== undefined) return { route, requests: Number(requests) }
    await pause(100)
  }
}

describe('pages of the operators’ port', () => {
  it('run no script, and link to each other', async () => {
    for (const path of ['/', '/gaps', '/quarantine', '/quarantine/1', '/keys']) {
      const { status, headers, text } = await ask(path, { token: TOKEN })
      expect([path, status]).toEqual([path, 200])
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      const forms = path === '/keys' ? 'self' : 'none'
      expect(headers['content-security-policy']).toMatch(/^default-src 'none';/)
      expect(headers['content-security-policy']).toContain(`form-action '${forms}'`)
      expect(text).not.toMatch(/<script|javascript:|\son\w+=/)
      const links = [...text.matchAll(/<nav.*<\/nav>/g)].join('').matchAll(/href="([^"]+)"/g)
      const others = ['/', '/gaps', '/quarantine', '/keys'].filter((one) => one !== path)
      expect(Array.from(links, ([, link]) => link)).toEqual(others)
    }
  })

  it('show the forecast of the disk and the gaps that are open now', async () => {
    const { text } = await ask('/')
    expect(text).toMatch(/\d [kMG]B kept · [\d.]+ [MGT]B free · the data folder /)
    expect(text).toContain(
      `<a href="/gaps?venue=venueb&amp;reason=disconnected">disconnected</a></td><td class="number">${OPEN_GAPS}<`,
    )
    expect(text).toContain('reason=quota">quota</a></td><td class="number">1<')
    expect(text).not.toContain('market_closed')
  })

  it('list every open gap once, oldest first, over several pages', async () => {
    const keys: string[] = []
    let path: string | undefined = '/gaps?venue=venueb'
    for (let pages = 0; path !== undefined; pages++) {
      expect(pages).toBeLessThan(3)
      const { text }: Answered = await ask(path)
      for (const [, key] of text.matchAll(/<td>instrument<\/td><td>(\w+)<\/td>/g)) keys.push(key!)
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
    }
    const expected = Array.from({ length: OPEN_GAPS }, (_, at) => `M${at}`)
    expected.splice(3, 0, 'Q')
    expect(keys).toEqual(expected)
    const { text } = await ask('/gaps?reason=quota')
    expect(text).toContain('<td>Q</td><td>quota</td>')
    expect(text).toContain('The upstream quota did not allow a poll.')
    expect(text).not.toContain('<td>M0</td>')
    expect((await ask('/gaps?venue=venuea')).text).toContain('No gap is open.')
    // What is not a place in the list begins it.
    expect((await ask('/gaps?after=[1,%22x%22]')).text).toContain('<td>M0</td>')
  })

  it('show quarantined messages with all their bytes, as text and not as markup', async () => {
    const { text: list } = await ask('/quarantine')
    const rows = [...list.matchAll(/<a href="\/quarantine\/(\d+)">/g)].map(([, id]) => id)
    expect(rows).toEqual(['2', '1'])
    expect(list).toContain('why &lt;b&gt;2&lt;/b&gt;')
    const { text } = await ask('/quarantine/1')
    expect(text).toContain('{&quot;a&quot;:&quot;&lt;script&gt;&amp;')
    const [, dump] = /As bytes<\/h2>\n<pre tabindex="0">([^<]+)</.exec(text)!
    const shown = dump!
      .split('\n')
      .map((line) => line.slice(10, 58).replaceAll(' ', ''))
      .join('')
    expect(shown).toBe(RAW.toString('hex'))
    const { headers, body } = await ask('/quarantine/1/raw')
    expect(body.equals(RAW)).toBe(true)
    expect(headers['content-type']).toBe('application/octet-stream')
    expect(headers['content-disposition']).toContain('attachment')
    for (const path of ['/quarantine/3', '/quarantine/0', '/quarantine/9/raw', '/quarantine/x']) {
      expect((await ask(path)).status).toBe(404)
    }
    expect((await ask('/quarantine?venue=venuec')).text).toContain('Nothing is in quarantine.')
  })

  it('refuse other methods, other addresses and other hosts', async () => {
    for (const path of ['/', '/gaps', '/status', '/metrics']) {
      const { status, headers } = await ask(path, { method: 'POST' })
      expect([status, headers['allow']]).toEqual([405, 'GET, HEAD'])
    }
    expect((await ask('/keys', { method: 'DELETE', token: TOKEN })).status).toBe(405)
    expect((await ask('/nothing')).status).toBe(404)
    const other = { host: 'evil.example' }
    expect((await ask('/keys', { token: TOKEN, headers: other })).status).toBe(421)
  })
})

describe('keys on the operators’ port', () => {
  it('are not there without a token in the settings', async () => {
    for (const asked of [
      {},
      { token: TOKEN },
      { token: '' },
      { token: TOKEN, form: { plan: 'desk' } },
    ]) {
      const { status, text, headers } = await ask('/keys', asked, closed)
      expect([status, headers['www-authenticate']]).toEqual([404, undefined])
      expect(text).toContain('ops.token')
    }
  })

  it('are refused without the token, or with another one', async () => {
    const wrong = [undefined, '', 'x', TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase()]
    for (const path of ['/keys', '/keys/key_000000000000', '/keys/key_000000000000/revoke']) {
      for (const token of wrong) {
        for (const form of [undefined, { plan: 'desk' }]) {
          const { status, text, headers } = await ask(path, { token, ...(form && { form }) })
          expect([path, token, status]).toEqual([path, token, 401])
          expect(headers['www-authenticate']).toMatch(/^Basic realm=/)
          expect(headers['x-frame-options']).toBe('DENY')
          expect(text).not.toContain('ticket')
        }
      }
    }
    const headers = { authorization: `Bearer ${TOKEN}` }
    expect((await ask('/keys', { headers })).status).toBe(401)
    expect(served.printed()).toContain('a wrong token of an operator')
    expect(served.printed()).not.toContain(TOKEN)
  })

  it('are created, shown once, used, counted, rolled and revoked', async () => {
    const created = await submit('/keys', '/keys', { plan: 'desk', name: 'lab "<1>"', expires: '' })
    expect([created.status, created.headers['cache-control']]).toEqual([201, 'no-store'])
    const [key, id] = [keyIn(created.text), idIn(created.text)]
    await untilStatus(key, 200)
    const { text: list } = await ask('/keys', { token: TOKEN })
    expect(list).toContain(`<a href="/keys/${id}">`)
    expect(list).toContain('lab &quot;&lt;1&gt;&quot;')
    expect(list + served.printed()).not.toContain(key)

    const rolled = await submit(`/keys/${id}`, `/keys/${id}/roll`, { overlap: '0s' })
    expect(rolled.status).toBe(201)
    const [next, nextId] = [keyIn(rolled.text), idIn(rolled.text)]
    expect([next === key, nextId === id]).toEqual([false, false])
    await untilStatus(next, 200)
    await untilStatus(key, 401)

    const revoked = await submit(`/keys/${nextId}`, `/keys/${nextId}/revoke`)
    expect([revoked.status, revoked.text.includes('is refused from now on')]).toEqual([200, true])
    await untilStatus(next, 401)
    const { text: over } = await ask(`/keys/${nextId}`, { token: TOKEN })
    expect(over).toContain('<td>revoked</td>')
    expect(over).not.toContain('<form')

    const { route, requests } = await untilCounted(id)
    expect([route, requests > 0]).toEqual(['markets', true])
  })

  it('are not changed by a form that is another site’s, old, sent twice or of another page', async () => {
    const before = (await ask('/keys', { token: TOKEN })).text
    const count = (text: string): number => Number(/(\d+) keys, and/.exec(text)![1])
    const form = { plan: 'desk', ticket: await ticketOf('/keys', '/keys') }
    const post = (fields: Readonly<Record<string, string>>, headers = {}) =>
      ask('/keys', { token: TOKEN, form: fields, headers })
    const { port } = new URL(served.ops)
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect((await post(form, { 'sec-fetch-site': site })).status).toBe(403)
    }
    for (const origin of ['https://evil.example', `http://127.0.0.1:${Number(port) + 1}`, 'x']) {
      expect((await post(form, { origin })).status).toBe(403)
    }
    for (const ticket of ['', 'x', `${form.ticket}x`, `9${form.ticket}`, '1.2.3']) {
      expect((await post({ ...form, ticket })).status).toBe(403)
    }
    const id = idIn(before)
    const other = { form: { ticket: form.ticket }, token: TOKEN }
    expect((await ask(`/keys/${id}/revoke`, other)).status).toBe(403)
    const json = { 'content-type': 'application/json' }
    expect((await post(form, json)).status).toBe(415)
    expect((await post({ ...form, name: 'x'.repeat(9000) })).status).toBe(413)
    expect(count((await ask('/keys', { token: TOKEN })).text)).toBe(count(before))

    expect((await post(form, { origin: served.ops, 'sec-fetch-site': 'same-origin' })).status).toBe(
      201,
    )
    const again = await post(form)
    expect([again.status, again.text.includes('was sent before')]).toEqual([403, true])
    expect(count((await ask('/keys', { token: TOKEN })).text)).toBe(count(before) + 1)
  })

  it('explain what is wrong in a form', async () => {
    const wrong = [
      { plan: 'gold' },
      { plan: 'desk', name: 'x'.repeat(101) },
      { plan: 'desk', name: 'a\nb' },
      { plan: 'desk', expires: '2020-01-01' },
      { plan: 'desk', expires: 'soon' },
      { plan: 'desk', expires: '2027-02-30' },
    ]
    for (const form of wrong) {
      const { status, text } = await submit('/keys', '/keys', form)
      expect([form, status]).toEqual([form, 400])
      expect(text).not.toContain('pb_live_')
    }
    const made = await submit('/keys', '/keys', { plan: 'desk', expires: '2099-01-01' })
    const id = idIn(made.text)
    expect(made.text).toContain('until 2099-01-01')
    for (const overlap of ['', 'soon', '999d']) {
      const { status } = await submit(`/keys/${id}`, `/keys/${id}/roll`, { overlap })
      expect([overlap, status]).toEqual([overlap, 400])
    }
    expect((await ask('/keys/key_zzzzzzzzzzzz', { token: TOKEN })).status).toBe(404)
    expect((await ask(`/keys/${id}/roll`, { token: TOKEN })).status).toBe(405)
  })
})
