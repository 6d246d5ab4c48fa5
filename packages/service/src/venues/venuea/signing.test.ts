import { expect, it } from 'vitest'
import { signCall, signSocket, signText } from './signing.ts'

const KEY = { apiKey: 'key', apiSecret: 'Jefe' }

it('signs by HMAC-SHA256 as RFC 4231 does in its second case', () => {
  expect(signText('what do ya want for nothing?', 'Jefe')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  )
})

it('signs the query of a call as it is sent, with the signature last', () => {
  const { headers, query } = signCall({ query: { b: '2', a: 'x y' } }, KEY, 1_700_000_000_000.7)
  expect(headers).toStrictEqual({ 'X-MBX-APIKEY': 'key' })
  expect(Object.keys(query)).toStrictEqual(['recvWindow', 'timestamp', 'signature'])
  expect(query['signature']).toBe(
    signText('b=2&a=x+y&recvWindow=30000&timestamp=1700000000000', 'Jefe'),
  )
})

it('signs the address of a socket with its parameters sorted and the bar as it is', () => {
  const { url, headers } = signSocket('wss://example.com/sapi/wss', ['t1', 't2'], KEY, 5)
  expect(headers).toStrictEqual({ 'X-MBX-APIKEY': 'key' })
  const [text, signature] = url.split('?')[1]!.split('&signature=')
  expect(text).toMatch(/^random=[0-9a-f]{32}&recvWindow=30000&timestamp=5&topic=t1\|t2$/)
  expect(signature).toBe(signText(text!, 'Jefe'))
  expect(new URL(url).search).toContain('topic=t1|t2&')
})
