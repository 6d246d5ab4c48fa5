import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashBody } from './body-hash.ts'

describe('hashBody', () => {
  it('differs for every bit and every length', () => {
    const body = Uint8Array.from({ length: 203 }, (_, index) => 32 + ((index * 7) % 90))
    const seen = new Set([hashBody(body)])
    for (let bit = 0; bit < body.length * 8; bit++) {
      const changed = body.slice()
      changed[bit >> 3]! ^= 1 << (bit & 7)
      seen.add(hashBody(changed))
    }
    for (let length = 0; length < body.length; length++) seen.add(hashBody(body.slice(0, length)))
    expect(seen.size).toBe(1 + body.length * 8 + body.length)
  })

  it('differs whichever two digits change', () => {
    const text = Array.from(
      { length: 12 },
      (_, index) => `[0.${3100 + index * 7},${index * 310}.5]`,
    )
    const body = new TextEncoder().encode(`{"bids":[${text.join(',')}],"asks":[]}`)
    const places = [...body.keys()].filter((at) => body[at]! >= 48 && body[at]! <= 57)
    const whole = hashBody(body)
    let same = 0
    for (const [index, one] of places.entries()) {
      for (const other of places.slice(index + 1)) {
        for (let digits = 0; digits < 100; digits += 7) {
          const changed = body.slice()
          changed[one] = 48 + (digits % 10)
          changed[other] = 48 + Math.floor(digits / 10)
          const isChanged = changed[one] !== body[one] || changed[other] !== body[other]
          if (isChanged && hashBody(changed) === whole) same++
        }
      }
    }
    expect(same).toBe(0)
  })

  it('differs when words change places', () => {
    const body = randomBytes(256)
    const words = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer)
    const seen = new Set([hashBody(body)])
    for (let one = 0; one < 64; one++) {
      for (let other = one + 1; other < 64; other++) {
        const swapped = words(body)
        const kept = swapped[one]!
        swapped[one] = swapped[other]!
        swapped[other] = kept
        seen.add(hashBody(new Uint8Array(swapped.buffer)))
      }
    }
    expect(seen.size).toBe(1 + (64 * 63) / 2)
  })

  it('does not depend on where the bytes lie', () => {
    const body = randomBytes(1001)
    const tags = [0, 1, 2, 3].map((shift) => {
      const room = new Uint8Array(1100)
      room.set(body, shift)
      return hashBody(room.subarray(shift, shift + body.length))
    })
    expect(new Set(tags).size).toBe(1)
  })
})
