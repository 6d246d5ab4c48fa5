import { constants, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { expect, it } from 'vitest'
import { codeOf } from '../capture/refusals.testing.ts'
import { createSigner } from './signing.ts'
import { KEYS } from './upstream.testing.ts'

it('signs time, method and path with RSA-PSS over SHA-256', () => {
  const headers = createSigner('key-1', KEYS.privateKey).headers(
    'GET',
    '/trade-api/v2/markets',
    1_790_000_000_123.9,
  )
  expect(headers['KALSHI-ACCESS-KEY']).toBe('key-1')
  expect(headers['KALSHI-ACCESS-TIMESTAMP']).toBe('1790000000123')
  const isRight = (text: string, saltLength: number): boolean =>
    verify(
      'sha256',
      Buffer.from(text),
      {
        key: createPublicKey(KEYS.publicKey),
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength,
      },
      Buffer.from(headers['KALSHI-ACCESS-SIGNATURE']!, 'base64'),
    )
  expect(isRight('1790000000123GET/trade-api/v2/markets', 32)).toBe(true)
  expect(isRight('1790000000123GET/trade-api/v2/markets', 20)).toBe(false)
  expect(isRight('1790000000123GET/trade-api/v2/markets?x=1', 32)).toBe(false)
})

it('refuses anything that is not an RSA key, without showing it', () => {
  expect(codeOf(() => createSigner('key-1', 'secret'))).toBe('invalid_argument')
  expect(() => createSigner('key-1', 'secret')).not.toThrow('secret')
  const { privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  expect(codeOf(() => createSigner('key-1', privateKey))).toBe('invalid_argument')
})
