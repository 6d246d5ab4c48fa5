import { describe, expect, it } from 'vitest'
import { createTestServer } from '../server.testing.ts'
import { isOwnMachine } from './start-key.ts'

const KEY = 'pb_live_0123456789'
const OWN = { host: '127.0.0.1:8780', 'x-priorbook-origin': 'http://127.0.0.1:8780' }

function isOwn(headers: Record<string, string>, remoteAddress = '127.0.0.1'): boolean {
  return isOwnMachine({ headers, httpVersion: '1.1', socket: { remoteAddress } as never })
}

describe('the key of the start', () => {
  it('is for the page of a browser on this machine, by any of its names', () => {
    expect(isOwn(OWN)).toBe(true)
    expect(isOwn({ ...OWN, 'sec-fetch-site': 'same-origin' })).toBe(true)
    expect(isOwn({ host: '[::1]:80', 'x-priorbook-origin': 'http://[::1]:80' }, '::1')).toBe(true)
    const named = { host: 'localhost:8780', 'x-priorbook-origin': 'https://localhost:8780' }
    expect(isOwn(named, '::ffff:127.0.0.1')).toBe(true)
  })

  it('is not for HTTP/1.0, which proxies speak and browsers do not', () => {
    const socket = { remoteAddress: '127.0.0.1' } as never
    expect(isOwnMachine({ headers: OWN, httpVersion: '1.0', socket })).toBe(false)
  })

  it.each([
    '10.0.0.7',
    '192.168.1.2',
    '::ffff:10.0.0.7',
    'fe80::1',
    '2001:db8::1',
    '1.127.0.0',
    '',
  ])('is not for the address %s, whatever its headers say', (address) => {
    expect(isOwn(OWN, address)).toBe(false)
    expect(isOwn({ ...OWN, 'x-forwarded-for': '127.0.0.1' }, address)).toBe(false)
  })

  it.each([
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-for', ''],
    ['x-forwarded-host', 'localhost'],
    ['x-forwarded-proto', 'http'],
    ['forwarded', 'for=127.0.0.1'],
    ['x-real-ip', '127.0.0.1'],
    ['via', '1.1 cache'],
    ['cf-connecting-ip', '127.0.0.1'],
    ['true-client-ip', '127.0.0.1'],
  ])('is not for a request that passed a proxy: %s', (name, value) => {
    expect(isOwn({ ...OWN, [name]: value })).toBe(false)
  })

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of this machine', { 'sec-fetch-site': 'same-site' }],
    ['an address bar', { 'sec-fetch-site': 'none' }],
    [
      'a name that points here',
      { host: 'evil.example', 'x-priorbook-origin': 'http://evil.example' },
    ],
    ['a name like ours', { host: '127.0.0.1.evil.example' }],
    ['a page behind a proxy that keeps quiet', { 'x-priorbook-origin': 'https://books.example' }],
    ['a page of another port', { 'x-priorbook-origin': 'http://127.0.0.1:9999' }],
  ])('is not for %s', (_, headers) => {
    expect(isOwn({ ...OWN, ...headers })).toBe(false)
    expect(isOwn({ host: OWN.host })).toBe(false)
  })

  it('is sent once asked for as the page does, and is never cached', async () => {
    const { ask } = await createTestServer({ startKey: KEY, routes: [] })
    const own = async (headers: Record<string, string>) => {
      const host = '127.0.0.1:8780'
      return ask('/start-key', { headers: { host, ...headers } })
    }
    const given = await own(OWN)
    expect([given.status, JSON.parse(given.text)]).toEqual([200, { key: KEY }])
    expect(given.headers['cache-control']).toBe('no-store')
    expect(given.headers['access-control-allow-origin']).toBeUndefined()
    const others = [
      {},
      { ...OWN, 'x-forwarded-for': '127.0.0.1' },
      { ...OWN, host: 'books.example' },
      { ...OWN, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of others) {
      const refused = await own(headers)
      expect([refused.status, refused.text]).toEqual([204, ''])
    }
    const posted = await ask('/start-key', { method: 'POST', headers: OWN })
    expect([posted.status, posted.text]).toEqual([204, ''])
  })

  it('does not exist where the data are not emulated', async () => {
    const { ask } = await createTestServer({ routes: [] })
    const reply = await ask('/start-key', { headers: OWN })
    expect([reply.status, reply.text]).toEqual([204, ''])
  })
})
