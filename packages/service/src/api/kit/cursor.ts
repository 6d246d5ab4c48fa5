import { hash, timingSafeEqual } from 'node:crypto'
import { Problem } from '@priorbook/sdk/wire'

/**
 * Signs and reads cursors. A cursor holds where a walk stands and is bound to what was asked: route,
 * market, range, filters and order. It is not bound to a key, and it never expires: old secrets still
 * verify.
 */
export interface CursorCodec {
  /** `scope` is everything that must be the same on the next page; `state` is where the walk stands. */
  sign(scope: CursorScope, state: CursorState): string
  /** Gives the state; throws `invalid_cursor` when anything differs. */
  read(scope: CursorScope, cursor: string): CursorState
}

/** What a cursor is bound to, written in one order by each route; absent values are left out. */
export type CursorScope = Readonly<Record<string, string | number | boolean | undefined>>

/** Numbers and texts of a walk, such as the last sequence and the pinned end of the range. */
export type CursorState = Readonly<Record<string, string | number>>

const MAC_BYTES = 16
const MAX_CURSOR = 4096

/** Creates a codec; the first secret signs, all of them verify. */
export function createCursorCodec(secrets: readonly Uint8Array[]): CursorCodec {
  const keys = secrets.map(toPads)
  const [current] = keys
  if (current === undefined) throw new Error('a cursor codec needs a secret')
  return {
    sign(scope, state) {
      const body = Buffer.from(JSON.stringify(state))
      return Buffer.concat([mac(current, scope, body), body]).toString('base64url')
    },
    read(scope, cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      // Base64 has several texts for one value; only the one that was given out is taken.
      const isOurs = cursor.length <= MAX_CURSOR && bytes.toString('base64url') === cursor
      const body = bytes.subarray(MAC_BYTES)
      const given = bytes.subarray(0, MAC_BYTES)
      const matches =
        isOurs &&
        body.length > 0 &&
        keys.some((key) => timingSafeEqual(mac(key, scope, body), given))
      if (!matches) {
        throw new Problem('invalid_cursor', 'the cursor does not belong to this request', {
          param: 'cursor',
          hint: 'Send the same parameters as for the first page, with its next_cursor unchanged.',
        })
      }
      return JSON.parse(body.toString()) as CursorState
    },
  }
}

type Pads = { readonly inner: Uint8Array; readonly outer: Uint8Array }

// HMAC-SHA-256 (RFC 2104) by single calls: making Hmac and key objects showed in profiles of pages. The
// scope is told apart from the body by the zero byte between them, which JSON text never holds. Its names
// stand in the order in which the route writes them, always the same.
function mac(key: Pads, scope: CursorScope, body: Uint8Array): Buffer {
  const bound = Buffer.from(`${JSON.stringify(scope)}\0`)
  const inner = hash('sha256', Buffer.concat([key.inner, bound, body]), 'buffer')
  return hash('sha256', Buffer.concat([key.outer, inner]), 'buffer').subarray(0, MAC_BYTES)
}

const BLOCK_BYTES = 64

function toPads(secret: Uint8Array): Pads {
  const key = secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret
  const pad = (mask: number): Uint8Array =>
    Uint8Array.from({ length: BLOCK_BYTES }, (_, index) => (key[index] ?? 0) ^ mask)
  return { inner: pad(0x36), outer: pad(0x5c) }
}
