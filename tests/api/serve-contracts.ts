import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { readWebFiles } from '../../packages/service/src/api/web/web-files.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { after, writeContract } from './contracts-tape.ts'

// Serves one contract of three venues and the explorer, from two minutes after the round began, until standard
// input ends; prints its address and a key without a limit of requests.
const folder = mkdtempSync(join(tmpdir(), 'priorbook-contracts-'))
const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
await writeContract(store)
const access = openAccess(folder)
const web = readWebFiles()
// The clock goes on, because limits of requests per second are counted by it.
const now = () => after(120 + performance.now() / 1000)
const server = createApiServer({ store, access, web, demo: { store }, now })
const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
console.log(`${url} ${access.demoKey('unlimited')}`)
process.stdin.resume()
await once(process.stdin, 'end')
await server.close(500)
access.close()
await store.close()
rmSync(folder, { recursive: true, force: true })
