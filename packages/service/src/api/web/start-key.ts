import type { IncomingMessage } from 'node:http'
import type { PendingRequest } from '../http/request.ts'

/** Where the explorer asks for the key that `npm start` printed. */
export const START_KEY_PATH = '/start-key'

// Headers of proxies. A request that passed one may come from anywhere, whatever the proxy says.
const PROXIED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
]

/**
 * True for a request of the explorer in a browser on this machine: the socket comes from a loopback address, no proxy is
 * between, and the page was loaded from a loopback address too, which a page of another host cannot claim
 * (it may not set the header, and a name that was pointed at 127.0.0.1 is not a loopback name).
 */
export function isOwnMachine({
  socket,
  headers,
  httpVersion,
}: Pick<IncomingMessage, 'socket' | 'headers' | 'httpVersion'>): boolean {
  // No browser speaks HTTP/1.0; proxies do, and some of them say nothing else of themselves.
  if (httpVersion === '1.0') return false
  if (!isLoopback(socket.remoteAddress ?? '')) return false
  if (PROXIED.some((name) => headers[name] !== undefined)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { host = '', 'x-priorbook-origin': origin } = headers
  if (!isLoopbackName(host.replace(/:\d+$/, ''))) return false
  return origin === `http://${host}` || origin === `https://${host}`
}

/** Sends the key to a browser on this machine, and nothing to anyone else. */
export function sendStartKey(pending: PendingRequest, key: string | undefined): void {
  const { request, method } = pending
  const headers = ['Cache-Control', 'no-store']
  if (key === undefined || method !== 'GET' || !isOwnMachine(request)) {
    pending.send(204, headers, undefined, 0)
    return
  }
  const body = Buffer.from(JSON.stringify({ key }))
  headers.push('Content-Type', 'application/json', 'Content-Length', String(body.length))
  pending.send(200, headers, body, 0)
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '')
  return plain === '::1' || /^127\.\d+\.\d+\.\d+$/.test(plain)
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name)
}
