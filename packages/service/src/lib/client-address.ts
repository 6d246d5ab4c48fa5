import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isInNetworks, toNetworks } from './networks.ts'

/**
 * Who the client of a request is, by its socket or what a trusted proxy says: an IPv4 address, or the network of an
 * IPv6 address. Who has one of those has 2^64 of them, and would be as many clients.
 */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/** The client at the other end of the socket. */
export const socketAddress: ClientAddress = ({ socket }) =>
  networkOf(toPlainAddress(socket.remoteAddress))

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
    let address = toPlainAddress(request.socket.remoteAddress)
    while (isInNetworks(proxies, address)) {
      const before = chain.pop()
      // What is not an address says nothing: then the proxy itself counts as the client.
      if (before === undefined || isIP(before) === 0) break
      address = before
    }
    return networkOf(address)
  }
}

function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length
  return [...groups, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':')
}

// Sockets that take both families show IPv4 addresses as ::ffff:10.0.0.1; proxies may add a port.
function toPlainAddress(text = ''): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text
  const withoutPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(bare)?.[1] ?? bare
  return withoutPort.replace(/^::ffff:(?=\d+\.)/i, '')
}
