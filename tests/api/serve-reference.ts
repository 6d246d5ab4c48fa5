import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { readWebFiles } from '../../packages/service/src/api/web/web-files.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { at, writeReferences } from './reference-tape.ts'

// Serves the reference prices of the tape and the explorer until standard input ends; prints its address and a key.
const folder = mkdtempSync(join(tmpdir(), 'priorbook-prices-'))
const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
await writeReferences(store)
const access = openAccess(folder)
const web = readWebFiles()
const server = createApiServer({ store, access, web, demo: { store }, now: () => at(1000) })
const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
console.log(`${url} ${key}`)
process.stdin.resume()
await once(process.stdin, 'end')
await server.close(500)
access.close()
await store.close()
rmSync(folder, { recursive: true, force: true })
