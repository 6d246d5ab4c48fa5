import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isInNetworks, toNetworks } from './networks.ts'

/** The address of the client of a request: of its socket, or what a trusted proxy says. */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/** The address at the other end of the socket. */
export const socketAddress: ClientAddress = ({ socket }) => toPlainAddress(socket.remoteAddress)

/**
 * Reads the address of the client from `X-Forwarded-For` where the socket is that of a trusted proxy, which
 * is named by address or network (10.0.0.0/8). Each proxy appends the address that it saw, so the last one that is
 * not trusted is the client; what stands before it, the client may have written.
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  if (trusted.length === 0) return socketAddress
  const proxies = toNetworks(trusted, 'api.trustProxy')
  return (request) => {
    const header = request.headers['x-forwarded-for']
    const chain = String(header ?? '')
      .split(',')
      .map((one) => toPlainAddress(one.trim()))
      .filter((one) => one !== '')
    let address = socketAddress(request)
    while (isInNetworks(proxies, address)) {
      const before = chain.pop()
      // What is not an address says nothing: then the proxy itself counts as the client.
      if (before === undefined || isIP(before) === 0) break
      address = before
    }
    return address
  }
}

// Sockets that take both families show IPv4 addresses as ::ffff:10.0.0.1; proxies may add a port.
function toPlainAddress(text = ''): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text
  const withoutPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(bare)?.[1] ?? bare
  return withoutPort.replace(/^::ffff:(?=\d+\.)/i, '')
}
