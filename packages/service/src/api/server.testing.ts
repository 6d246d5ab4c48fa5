import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest, type Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { openAccess, type Access } from './auth/access.ts'
import { createApiServer, type ApiServer, type ApiServerOptions } from './server.ts'

/** A server over an empty store (or a given one) in a folder that is gone when the test ends. */
export type TestServer = {
  readonly server: ApiServer
  readonly access: Access
  readonly store: EmbeddedStore
  readonly path: string
  readonly logs: readonly string[]
  /** A new key of a plan. */
  readonly keyOf: (plan: string) => string
  /** Asks without a socket; the key goes into the header. */
  readonly ask: (url: string, options?: AskOptions) => Promise<Asked>
}

/** More of a request. */
export type AskOptions = {
  readonly key?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer. */
export type Asked = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  readonly bytes: Uint8Array
  json(): Record<string, unknown>
}

/** Makes one. */
export async function createTestServer(
  options: Partial<ApiServerOptions> & { readonly path?: string } = {},
): Promise<TestServer> {
  const path = options.path ?? mkdtempSync(join(tmpdir(), 'priorbook-api-'))
  const own = options.store === undefined
  const store = (options.store ??
    openEmbeddedStore({ file: join(path, 'tape.db') })) as EmbeddedStore
  const access = openAccess(path, options.now === undefined ? {} : { now: options.now })
  const logs: string[] = []
  const write = (level: string) => (fields: object, message: string) => {
    logs.push(JSON.stringify({ level, message, ...fields }))
  }
  const log = { info: write('info'), warn: write('warn'), error: write('error') }
  const server = await createApiServer({ ...options, store, access, log })
  onTestFinished(async () => {
    await server.close(500)
    access.close()
    if (own) await store.close()
    if (options.path === undefined) rmSync(path, { recursive: true, force: true })
  })
  return {
    server,
    access,
    store,
    path,
    logs,
    keyOf: (plan) => access.keys.create({ plan, name: 'test' }).key,
    async ask(url, { key, method = 'GET', headers = {} } = {}) {
      const response = await server.fastify.inject({
        method: method as 'GET',
        url,
        headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      })
      return {
        status: response.statusCode,
        headers: response.headers as Asked['headers'],
        text: response.body,
        bytes: response.rawPayload,
        json: () => JSON.parse(response.body) as Record<string, unknown>,
      }
    },
  }
}

/** Asks over a real socket. */
export function askHttp(
  url: string,
  options: { readonly key?: string; readonly agent?: Agent } = {},
): Promise<{ status: number; headers: Asked['headers']; text: string }> {
  const { key, agent } = options
  return new Promise((resolve, reject) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const request = httpRequest(
      url,
      { headers, ...(agent === undefined ? {} : { agent }) },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Asked['headers'],
            text: Buffer.concat(parts).toString(),
          })
        })
      },
    )
    request.on('error', reject)
    request.end()
  })
}
