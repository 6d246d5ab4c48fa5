import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { fillCatalogue } from '../store/embedded/catalogue.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import { createTestServer } from './server.testing.ts'

it('a server refuses a tape that a newer build migrates while it reads it', async () => {
  const file = join(createTempFolder(), 'tape.db')
  const writer = openEmbeddedStore({ file })
  await fillCatalogue(writer, 20)
  await writer.close()
  const store = openEmbeddedStore({ file, readOnly: true })
  onTestFinished(() => store.close())
  const server = await createTestServer({ store })
  const key = server.keyOf('unlimited')
  const ask = async (path: string) => {
    const { status, text } = await server.ask(path, { key })
    const { code, data } = JSON.parse(text) as { code?: string; data?: unknown[] }
    return { status, code, rows: data?.length }
  }
  const listed = { status: 200, code: undefined, rows: 20 }
  expect(await ask('/v3/markets')).toEqual(listed)
  // What a newer build may do: a table that lists need is emptied, as its content is elsewhere.
  const newer = new DatabaseSync(file)
  newer.exec('BEGIN; PRAGMA user_version = 1000; DELETE FROM listing; COMMIT')
  const refused = { status: 503, code: 'store_unavailable', rows: undefined }
  for (const path of ['/v3/markets', '/v3/markets?tag=rounds', '/v3/status']) {
    expect([path, await ask(path)]).toEqual([path, refused])
  }
  newer.close()
})
