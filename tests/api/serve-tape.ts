import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Micros } from '../../packages/sdk/src/domain/index.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { readWebFiles } from '../../packages/service/src/api/web/web-files.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/**
 * Serves what is written into a tape, and the explorer, until standard input ends. Prints its address and a key
 * without a limit of requests.
 */
export async function serveTape(
  write: (store: Store) => Promise<void>,
  now: () => Micros,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-served-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  await write(store)
  const access = openAccess(folder)
  const web = readWebFiles()
  const server = createApiServer({ store, access, web, demo: { store }, now })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  console.log(`${url} ${key}`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  await server.close(500)
  access.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
