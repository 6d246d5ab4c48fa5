import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createClientAddress, socketAddress } from './client-address.ts'

function requestFrom(remoteAddress: string, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return { headers, socket: { remoteAddress } } as unknown as IncomingMessage
}

describe('the client of a request', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('at %s is %s', (address, client) => {
    expect(socketAddress(requestFrom(address))).toBe(client)
    expect(createClientAddress([])(requestFrom(address))).toBe(client)
    expect(createClientAddress(['10.0.0.1'])(requestFrom('10.0.0.1', address))).toBe(client)
  })

  it('is what the last trusted proxy saw, and a proxy is known by its whole address', () => {
    const clientOf = createClientAddress(['2001:db8::1', '10.0.0.0/8'])
    const chain = '198.51.100.1, [2001:db8:7:7::9]:443, 10.2.3.4'
    expect(clientOf(requestFrom('2001:db8::1', chain))).toBe('2001:db8:7:7')
    expect(clientOf(requestFrom('2001:db8::2', chain))).toBe('2001:db8:0:0')
    expect(clientOf(requestFrom('10.0.0.1', 'nonsense'))).toBe('10.0.0.1')
  })
})
