import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCursorCodec } from './cursor.ts'

describe('a cursor', () => {
  it.each([1, 20, 64, 65, 200])('is signed by HMAC-SHA-256 with a secret of %i bytes', (length) => {
    const secret = Buffer.alloc(length, 'secret')
    const cursor = createCursorCodec([secret]).sign({ route: 'x', end: undefined }, { p: 7 })
    const bytes = Buffer.from(cursor, 'base64url')
    const mac = createHmac('sha256', secret).update('{"route":"x"}\0{"p":7}').digest()
    expect(bytes.subarray(0, 16)).toEqual(mac.subarray(0, 16))
    expect(bytes.subarray(16).toString()).toBe('{"p":7}')
  })

  it('is verified with current and old secrets, and with no other', () => {
    const [old, current] = [Buffer.from('old'), Buffer.from('current')]
    const cursor = createCursorCodec([old]).sign({ route: 'x' }, { p: 7 })
    expect(createCursorCodec([current, old]).read({ route: 'x' }, cursor)).toEqual({ p: 7 })
    expect(() => createCursorCodec([current]).read({ route: 'x' }, cursor)).toThrow('cursor')
    expect(() => createCursorCodec([old]).read({ route: 'y' }, cursor)).toThrow('cursor')
  })

  it('carries any text, however long its scope', () => {
    const codec = createCursorCodec([Buffer.from('secret')])
    const state = { p: 'ä€😀'.repeat(40), c: 0 }
    const scope = { route: 'x', books: 'é'.repeat(9000) }
    expect(codec.read(scope, codec.sign(scope, state))).toEqual(state)
    expect(codec.read({ route: 'y' }, codec.sign({ route: 'y' }, state))).toEqual(state)
    expect(() => codec.read({ ...scope, route: 'z' }, codec.sign(scope, state))).toThrow('cursor')
  })
})
