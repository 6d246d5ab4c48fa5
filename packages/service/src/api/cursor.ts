import { hash, timingSafeEqual } from 'node:crypto'
import { Problem } from '@priorbook/sdk/wire'
import type { CursorCodec, CursorScope, CursorState } from './route.ts'

const MAC_BYTES = 16
const MAX_CURSOR = 4096

/** Creates a codec; the first secret signs, all of them verify. */
export function createCursorCodec(secrets: readonly Uint8Array[]): CursorCodec {
  const keys = secrets.map(toPads)
  const [current] = keys
  if (current === undefined) throw new Error('a cursor codec needs a secret')
  return {
    sign(scope, state) {
      const body = JSON.stringify(state)
      const bytes = Buffer.allocUnsafe(MAC_BYTES + body.length * 3)
      mac(current, scope, body).copy(bytes)
      const length = bytes.write(body, MAC_BYTES)
      return bytes.toString('base64url', 0, MAC_BYTES + length)
    },
    read(scope, cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      // Base64 has several texts for one value; only the canonical one is accepted.
      const isOurs = cursor.length <= MAX_CURSOR && bytes.toString('base64url') === cursor
      const body = bytes.toString('utf8', MAC_BYTES)
      const given = bytes.subarray(0, MAC_BYTES)
      const matches =
        isOurs && body !== '' && keys.some((key) => timingSafeEqual(mac(key, scope, body), given))
      if (!matches) {
        throw new Problem('invalid_cursor', 'the cursor does not belong to this request', {
          param: 'cursor',
          hint: 'Send the same parameters as for the first page, with its next_cursor unchanged.',
        })
      }
      return JSON.parse(body) as CursorState
    },
  }
}

type Pads = {
  /** The inner pad, with room for the hashed text. */
  readonly inner: Buffer
  /** The outer pad, with room for the inner hash. */
  readonly outer: Buffer
}

// HMAC-SHA-256 (RFC 2104) by one-shot hashes in reused buffers: creating Hmac and key objects showed in
// profiles of pages, and a hash gives text faster than a buffer. A zero byte, which JSON never contains,
// separates scope and body. Each route writes the names of its scope in one fixed order.
function mac({ inner, outer }: Pads, scope: CursorScope, body: string): Buffer {
  const text = `${JSON.stringify(scope)}\0${body}`
  const isRoomy = text.length * 3 <= inner.length - BLOCK_BYTES
  const bytes = isRoomy ? inner : Buffer.concat([inner], BLOCK_BYTES + text.length * 3)
  const end = BLOCK_BYTES + bytes.write(text, BLOCK_BYTES)
  outer.write(hash('sha256', bytes.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1')
  return Buffer.from(hash('sha256', outer, 'binary'), 'latin1').subarray(0, MAC_BYTES)
}

const BLOCK_BYTES = 64
const HASH_BYTES = 32
// Room for most scopes and states as UTF-8; longer ones get a buffer of their own.
const ROOM = 8192

function toPads(secret: Uint8Array): Pads {
  const key = secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret
  const pad = (mask: number, room: number): Buffer => {
    const bytes = Buffer.alloc(BLOCK_BYTES + room)
    for (let index = 0; index < BLOCK_BYTES; index++) bytes[index] = (key[index] ?? 0) ^ mask
    return bytes
  }
  return { inner: pad(0x36, ROOM), outer: pad(0x5c, HASH_BYTES) }
}
