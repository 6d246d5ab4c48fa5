import { Agent, createServer, request as httpRequest, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** More of a request. */
export type AskOptions = {
  readonly key?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A response that was read to its end. */
export type Asked = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  readonly bytes: Uint8Array
  json(): Record<string, unknown>
}

/** Sends requests to a handler over loopback; the key goes into the header. */
export type Asker = {
  readonly ask: (path: string, options?: AskOptions) => Promise<Asked>
  readonly close: () => void
}

/** Creates an asker, whose server starts with the first request. */
export function createAsker(handle: RequestListener): Asker {
  // A connection that the server ends because it was idle may just be taken for the next request.
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: 0 }, handle)
  const agent = new Agent({ keepAlive: true })
  let listening: Promise<void> | undefined
  return {
    async ask(path, options) {
      listening ??= new Promise((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
      await listening
      const { port } = server.address() as AddressInfo
      return askHttp(`http://127.0.0.1:${port}${path}`, { ...options, agent })
    },
    close() {
      agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Sends one request over a real socket. */
export function askHttp(
  url: string,
  options: AskOptions & { readonly agent?: Agent } = {},
): Promise<Asked> {
  const { key, agent, method = 'GET', body } = options
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const headers = { ...options.headers, ...authorization }
  // The address is sent as it is written: a URL object would normalize it.
  const [, host = '', port = '', path = '/'] = /^http:\/\/([^:/]+):(\d+)(.*)$/.exec(url) ?? []
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host, port, path, method, headers, ...(agent === undefined ? {} : { agent }) },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          const bytes = Buffer.concat(parts)
          const text = bytes.toString()
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Asked['headers'],
            text,
            bytes,
            json: () => JSON.parse(text) as Record<string, unknown>,
          })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}
