import type { UpstreamRequest } from '../../core/upstream.ts'
import { sign } from './auth.ts'
import { BASE } from './rest.ts'
import type { TestWorld } from './world.testing.ts'

/** The credentials of the tests. */
export const CREDENTIALS = { apiKey: 'key-of-the-test', apiSecret: 'secret-of-the-test' } as const

/** A request as a well-behaved client signs it. */
export function signed(
  world: TestWorld,
  name: string,
  parameters: Readonly<Record<string, string>> = {},
): UpstreamRequest {
  const query = new URLSearchParams({ ...parameters, timestamp: String(world.at) })
  query.append('signature', sign(query.toString(), CREDENTIALS.apiSecret))
  return request(`${BASE}/${name}`, query)
}

/** The handshake of the socket: parameters sorted, then signed. */
export function handshake(world: TestWorld, topic: string): UpstreamRequest {
  const query = new URLSearchParams({
    random: '56724ac6',
    recvWindow: '30000',
    timestamp: String(world.at),
    topic,
  })
  query.append('signature', sign(query.toString(), CREDENTIALS.apiSecret))
  return request('/sapi/wss', query)
}

/** A plain GET with the key of the tests. */
export function request(path: string, query: URLSearchParams): UpstreamRequest {
  const headers = { 'x-mbx-apikey': CREDENTIALS.apiKey }
  return { method: 'GET', path, query, headers, body: '' }
}
