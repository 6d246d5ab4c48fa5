import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { fastify, type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Exchange } from '../http/exchange.ts'
import { serveWeb } from './serve-web.ts'
import { readWebFiles } from './web-files.ts'

const SCRIPT = `console.log('hello')\n`.repeat(50)

let folder: string
let app: FastifyInstance

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-web-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>x</title>')
  writeFileSync(join(folder, 'icon.svg'), '<svg/>')
  writeFileSync(join(folder, 'assets/index-1a2b.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/index-1a2b.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets/index-1a2b.js.gz'), gzipSync(SCRIPT))
  app = fastify({
    rewriteUrl(raw) {
      if (raw.method !== 'GET') {
        ;(raw as typeof raw & { verb?: string }).verb = raw.method ?? ''
        raw.method = 'GET'
      }
      return raw.url ?? '/'
    },
  })
  const web = readWebFiles(folder)!
  serveWeb(app, web, (request, response) => new Exchange(request, response, 'id', [], () => {}))
  await app.ready()
})

afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the files of the explorer', () => {
  it.each(['/', '/markets', '/market/venueb/A%2FB', '/coverage', '/status', '/key?x=1'])(
    'are one page at %s',
    async (url) => {
      const reply = await app.inject({ url })
      expect(reply.statusCode).toBe(200)
      expect(reply.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(reply.headers['cache-control']).toBe('no-cache')
      const policy = String(reply.headers['content-security-policy'])
      expect(policy).toContain("script-src 'self'")
      expect(policy).not.toContain('unsafe')
    },
  )

  it('are kept for ever where their name tells their content', async () => {
    const url = '/assets/index-1a2b.js'
    const plain = await app.inject({ url })
    expect(plain.body).toBe(SCRIPT)
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const packed = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
    expect(packed.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(packed.rawPayload).toString()).toBe(SCRIPT)
    expect(packed.headers['etag']).not.toBe(plain.headers['etag'])
    const refused = await app.inject({ url, headers: { 'accept-encoding': 'br;q=0, gzip' } })
    expect(refused.headers['content-encoding']).toBe('gzip')
    const again = await app.inject({ url, headers: { 'if-none-match': plain.headers['etag']! } })
    expect(again.statusCode).toBe(304)
    expect(again.body).toBe('')
  })

  it('are not there where nothing is', async () => {
    expect((await app.inject({ url: '/assets/other.js' })).statusCode).toBe(404)
    expect((await app.inject({ url: '/assets/index-1a2b.js.br' })).statusCode).toBe(404)
    expect((await app.inject({ url: '/index.html' })).statusCode).toBe(404)
    expect(readWebFiles(join(folder, 'nothing'))).toBeUndefined()
  })

  it('are read and nothing else', async () => {
    const head = await app.inject({ method: 'HEAD', url: '/' })
    expect(head.statusCode).toBe(200)
    expect(head.body).toBe('')
    expect((await app.inject({ method: 'DELETE', url: '/' })).statusCode).toBe(405)
    expect((await app.inject({ method: 'OPTIONS', url: '/' })).statusCode).toBe(204)
    const posted = await app.inject({ method: 'POST', url: '/', payload: 'x' })
    expect(posted.statusCode).toBe(413)
  })
})
