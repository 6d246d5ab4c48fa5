import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Asker } from '../ask.testing.ts'
import { createTestServer } from '../server.testing.ts'
import { readWebFiles } from './web-files.ts'

const SCRIPT = `console.log('hello')\n`.repeat(50)

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-web-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>x</title>')
  writeFileSync(join(folder, 'icon.svg'), '<svg/>')
  writeFileSync(join(folder, 'assets/index-1a2b.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/index-1a2b.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/index-1a2b.js.gz'), gzipSync(SCRIPT))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A server of the files, asked with a key, because unknown addresses need one. */
async function serve(): Promise<Asker['ask']> {
  const { ask, keyOf } = await createTestServer({ web: readWebFiles(folder), routes: [] })
  const key = keyOf('unlimited')
  return (url, options) => ask(url, { key, ...options })
}

describe('the files of the explorer', () => {
  it.each([
    '/',
    '/markets',
    '/market/venueb/A%2FB',
    '/contracts/x-a',
    '/coverage',
    '/backtest?fill=1',
    '/alerts?venue=venueb&market=A',
    '/guides/guide/backtest',
    '/status',
    '/key?x=1',
  ])('are one page at %s', async (url) => {
    const ask = await serve()
    const reply = await ask(url)
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(reply.headers['cache-control']).toBe('no-cache')
    const policy = String(reply.headers['content-security-policy'])
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toContain('unsafe')
  })

  it('may be cached for ever where their name contains a hash', async () => {
    const ask = await serve()
    const url = '/assets/index-1a2b.js'
    const plain = await ask(url)
    expect(plain.text).toBe(SCRIPT)
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const packed = await ask(url, { headers: { 'accept-encoding': 'gzip, br' } })
    expect(packed.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(packed.bytes).toString()).toBe(SCRIPT)
    expect(packed.headers['etag']).not.toBe(plain.headers['etag'])
    const refused = await ask(url, { headers: { 'accept-encoding': 'br;q=0, gzip' } })
    expect(refused.headers['content-encoding']).toBe('gzip')
    const again = await ask(url, { headers: { 'if-none-match': plain.headers['etag']! } })
    expect(again.status).toBe(304)
    expect(again.text).toBe('')
  })

  it('are 404 where there is no file', async () => {
    const ask = await serve()
    expect((await ask('/assets/other.js')).status).toBe(404)
    expect((await ask('/assets/index-1a2b.js.br')).status).toBe(404)
    expect((await ask('/index.html')).status).toBe(404)
    expect(readWebFiles(join(folder, 'nothing'))).toBeUndefined()
  })

  it('are a page for a browser at an address without one, and a problem for programs', async () => {
    const { ask } = await createTestServer({ web: readWebFiles(folder), routes: [] })
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const lost = await ask('/nope', { headers: { accept } })
    expect([lost.status, lost.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    const again = { accept, 'if-none-match': lost.headers['etag']! }
    expect((await ask('/nope', { headers: again })).status).toBe(404)
    for (const [url, headers] of [
      ['/nope', { accept: '*/*' }],
      ['/nope', { accept: 'application/json' }],
      ['/v3/nope', { accept }],
      ['/nope', { accept, authorization: 'Bearer pb_live_x' }],
    ] as const) {
      const reply = await ask(url, { headers })
      expect([url, reply.status, reply.headers['content-type']]).toEqual([
        url,
        401,
        'application/problem+json',
      ])
    }
    expect((await ask('/nope', { method: 'POST', headers: { accept } })).status).toBe(401)
  })

  it('answer GET, HEAD and OPTIONS only', async () => {
    const ask = await serve()
    const head = await ask('/', { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.text).toBe('')
    expect((await ask('/', { method: 'DELETE' })).status).toBe(405)
    expect((await ask('/', { method: 'OPTIONS' })).status).toBe(204)
    const posted = await ask('/', { method: 'POST', body: 'x' })
    expect(posted.status).toBe(413)
  })
})
