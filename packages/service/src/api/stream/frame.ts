const TEXT_FRAME = 0x81
const SHORT = 126
const LONG = 127
const MAX_SHORT = 125
const MAX_MIDDLE = 65_535

/**
 * One WebSocket message as a text frame without a mask, as servers send them (RFC 6455, section 5.2).
 * Encoded once, it can be written to any number of sockets.
 */
export function toFrame(...parts: readonly (Uint8Array | string)[]): Buffer {
  let length = 0
  for (const part of parts) {
    length += typeof part === 'string' ? Buffer.byteLength(part) : part.length
  }
  const head = length <= MAX_SHORT ? 2 : length <= MAX_MIDDLE ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = TEXT_FRAME
  if (head === 2) frame[1] = length
  else if (head === 4) {
    frame[1] = SHORT
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = LONG
    frame.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
    frame.writeUInt32BE(length >>> 0, 6)
  }
  let at = head
  for (const part of parts) {
    if (typeof part === 'string') at += frame.write(part, at)
    else {
      frame.set(part, at)
      at += part.length
    }
  }
  return frame
}
