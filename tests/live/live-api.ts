import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import {
  createApiServer,
  type ApiServer,
  type ApiServerOptions,
} from '../../packages/service/src/api/server.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'

/** One of the processes that answer, here with a handle of its own on the tape. */
export type LiveWorker = {
  readonly server: ApiServer
  readonly store: EmbeddedStore
  readonly url: string
  readonly errors: readonly string[]
  close(): Promise<void>
}

/** Several servers over one tape, as workers of one installation are. */
export class LiveApi {
  readonly access: Access
  readonly key: string
  private readonly tape: string

  constructor(tape: string) {
    this.tape = tape
    const home = join(dirname(tape), 'access')
    mkdirSync(home, { recursive: true })
    this.access = openAccess(home)
    onTestFinished(() => this.access.close())
    this.key = this.access.keys.create({ plan: 'unlimited', name: 'test' }).key
  }

  /** Starts a worker; on a port of its own unless one is named. */
  async start(
    port = 0,
    options: Pick<ApiServerOptions, 'stream'> = {},
  ): Promise<LiveWorker & { readonly port: number }> {
    const store = openEmbeddedStore({ file: this.tape, readOnly: true })
    const errors: string[] = []
    const note = (fields: object, message: string): void => {
      errors.push(`${message} ${JSON.stringify(fields)}`)
    }
    const log = { info: () => undefined, warn: note, error: note }
    const server = createApiServer({ ...options, store, access: this.access, log })
    const bound = await server.listen({ host: '127.0.0.1', port })
    let isClosed = false
    const close = async (): Promise<void> => {
      if (isClosed) return
      isClosed = true
      await server.close(3000)
      await store.close()
    }
    onTestFinished(close)
    return { server, store, url: bound.url, port: bound.port, errors, close }
  }
}
