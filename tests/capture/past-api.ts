import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAsker } from '../../packages/service/src/api/ask.testing.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { EmulatedHome } from './emulated-home.ts'

/** A page of any route. */
type Page<Row> = {
  readonly data: readonly Row[]
  readonly pagination: { readonly next_cursor: string | null }
  readonly meta: Readonly<Record<string, unknown>>
}

/** The REST interface over a data folder, while nothing else writes to it. */
export async function withApi<T>(home: EmulatedHome, use: (api: Api) => Promise<T>): Promise<T> {
  const folder = join(home.home, 'access')
  mkdirSync(folder, { recursive: true })
  const store = openEmbeddedStore({ file: home.data.tape })
  const access = openAccess(folder)
  const server = createApiServer({ store, access })
  const { ask, close } = createAsker(server.handle)
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  const get = async <Row>(path: string): Promise<Page<Row>> => {
    const { status, text } = await ask(path, { key })
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as Page<Row>
  }
  try {
    return await use({
      get,
      async all<Row>(path: string): Promise<Row[]> {
        const rows: Row[] = []
        for (let cursor = ''; ;) {
          const page = await get<Row>(`${path}${cursor}`)
          rows.push(...page.data)
          const next = page.pagination.next_cursor
          if (next === null) return rows
          cursor = `&cursor=${encodeURIComponent(next)}`
        }
      },
    })
  } finally {
    close()
    await server.close(500)
    access.close()
    await store.close()
  }
}

/** Reads pages of the interface. */
export type Api = {
  get<Row>(path: string): Promise<Page<Row>>
  all<Row>(path: string): Promise<Row[]>
}
