import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { createAsker, type Asker } from './ask.testing.ts'
import { openAccess, type Access } from './auth/access.ts'
import { createApiServer, type ApiServer, type ApiServerOptions } from './server.ts'

/** A server over an empty or given store, in a folder that is removed when the test ends. */
export type TestServer = {
  readonly server: ApiServer
  readonly access: Access
  readonly store: EmbeddedStore
  readonly path: string
  readonly logs: readonly string[]
  /** A new key of a plan. */
  readonly keyOf: (plan: string) => string
  /** Sends a request over loopback, apart from where the server itself listens. */
  readonly ask: Asker['ask']
}

/** Creates a test server. */
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
  const server = createApiServer({ ...options, store, access, log })
  const { ask, close } = createAsker(server.handle)
  onTestFinished(async () => {
    close()
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
    ask,
  }
}
