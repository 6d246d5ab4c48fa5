import { constants, inflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compressFrames, keptOffers, windowOf } from './deflate.ts'
import { toFrame } from './frame.ts'

// What RFC 7692 says a receiver does: appends the end of the block, and inflates.
function readMessages(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes)
  const messages: string[] = []
  for (let at = 0; at < buffer.length;) {
    const first = buffer[at]!
    expect(first & 0x8f).toBe(0x81)
    let length = buffer[at + 1]!
    let start = at + 2
    if (length === 126) [length, start] = [buffer.readUInt16BE(at + 2), at + 4]
    else if (length === 127) [length, start] = [Number(buffer.readBigUInt64BE(at + 2)), at + 10]
    const payload = buffer.subarray(start, start + length)
    const isCompressed = (first & 0x40) !== 0
    const whole = isCompressed
      ? inflateRawSync(Buffer.concat([payload, Buffer.from([0, 0, 0xff, 0xff])]), {
          finishFlush: constants.Z_SYNC_FLUSH,
        })
      : payload
    messages.push(whole.toString())
    at = start + length
  }
  return messages
}

describe('compressed frames', () => {
  it('hold the same messages, one by one, at every size and window', () => {
    const texts = [10, 125, 126, 300, 5000, 65_535, 65_536, 300_000].map((size) =>
      JSON.stringify({ text: 'level 0.51 '.repeat(size / 10).slice(0, size) }),
    )
    const bytes = Buffer.concat(texts.map((text) => toFrame(text)))
    for (const window of [9, 12, 15]) {
      const packed = compressFrames(bytes, window)
      expect(readMessages(packed)).toEqual(texts)
      expect(packed.length).toBeLessThan(bytes.length / 10)
    }
  })

  it('stay as they are where compression gains nothing', () => {
    const short = toFrame('{"type":"heartbeat"}')
    expect(compressFrames(short, 15)).toEqual(short)
  })
})

describe('offers', () => {
  it('name the window, and are left out where it is too small', () => {
    expect(windowOf(undefined)).toBeUndefined()
    expect(windowOf('permessage-deflate; server_no_context_takeover')).toBe(15)
    expect(windowOf('permessage-deflate; server_max_window_bits=12')).toBe(12)
    expect(keptOffers('permessage-deflate; server_max_window_bits=8')).toBeUndefined()
    const two = 'permessage-deflate; server_max_window_bits=8, permessage-deflate'
    expect(keptOffers(two)).toBe(' permessage-deflate')
    expect(keptOffers(undefined)).toBeUndefined()
  })
})
