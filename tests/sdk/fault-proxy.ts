import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** What the proxy does to one request. */
export type Fault =
  | 'none'
  | 'drop'
  | 'cut'
  | { readonly status: number; readonly retryAfter?: string }

/** A proxy before a server that drops, cuts and refuses, and can cut every socket at once. */
export type FaultProxy = {
  readonly url: string
  /** What was done so far, by name. */
  readonly done: Readonly<Record<string, number>>
  /** How many sockets (WebSockets) are open. */
  readonly sockets: () => number
  /** Where requests go from now on. */
  target(url: string): void
  /** Cuts every open WebSocket without a word. */
  cut(): void
  close(): Promise<void>
}

/** Starts one; `decide` says what happens to the request with this number and address. */
export async function openFaultProxy(
  target: string,
  decide: (number: number, url: string) => Fault = () => 'none',
): Promise<FaultProxy> {
  let to = new URL(target)
  let count = 0
  const done: Record<string, number> = {}
  const note = (name: string): void => void (done[name] = (done[name] ?? 0) + 1)
  const pairs = new Set<readonly [Duplex, Socket]>()

  const forward = (request: IncomingMessage, response: ServerResponse, isCut: boolean): void => {
    const { hostname, port } = to
    const { method = 'GET', url = '/', headers } = request
    // Packed answers can be too short to be cut in the middle.
    const own = isCut ? { ...headers, 'accept-encoding': 'identity' } : headers
    const upstream = ask({ hostname, port, method, path: url, headers: own }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      if (!isCut) {
        answer.pipe(response)
        return
      }
      // Downloads do not say how long they are; a few rows of one are enough to go on from.
      let left = Number(answer.headers['content-length'] ?? 6000) / 2
      answer.on('data', (piece: Buffer) => {
        left -= piece.length
        if (left > 0) response.write(piece)
        else {
          response.write(piece.subarray(0, Math.max(0, piece.length + left)), () =>
            response.socket?.destroy(),
          )
          answer.destroy()
        }
      })
      answer.on('end', () => response.end())
    })
    upstream.on('error', () => response.socket?.destroy())
    response.on('close', () => upstream.destroy())
    upstream.end()
  }

  const server = createServer((request, response) => {
    const fault = decide(count++, request.url ?? '')
    note(typeof fault === 'string' ? fault : String(fault.status))
    if (fault === 'drop') request.socket.destroy()
    else if (typeof fault === 'object') {
      const { status, retryAfter } = fault
      const code = status === 429 ? 'rate_limited' : 'store_unavailable'
      response.writeHead(status, {
        'content-type': 'application/problem+json',
        ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      })
      response.end(JSON.stringify({ status, code, title: 'No.', detail: 'not now' }))
    } else forward(request, response, fault === 'cut')
  })
  server.on('upgrade', (request, socket, head) => {
    const upstream = connect(Number(to.port), to.hostname, () => {
      const lines = [`GET ${request.url} HTTP/1.1`]
      for (let at = 0; at < request.rawHeaders.length; at += 2) {
        lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`)
      }
      upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      upstream.pipe(socket)
      socket.pipe(upstream)
    })
    const pair = [socket, upstream] as const
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      socket.destroy()
      upstream.destroy()
    }
    for (const one of pair) one.on('close', end).on('error', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    note('cut sockets')
    for (const [socket, upstream] of pairs) {
      socket.destroy()
      upstream.destroy()
    }
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done,
    sockets: () => pairs.size,
    target: (url) => void (to = new URL(url)),
    cut,
    async close() {
      cut()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
