import { describe, expect, it } from 'vitest'
import { createKeyText, hashKey, isKeyText, redactKeys, shownParts } from './key-text.ts'
import { deriveKeyText } from './control.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('the text of a key', () => {
  it('is pb_live_, thirty random digits and six of a checksum', () => {
    const key = createKeyText()
    expect(key).toMatch(/^pb_live_[0-9A-Za-z]{36}$/)
    expect(isKeyText(key)).toBe(true)
    expect(createKeyText()).not.toBe(key)
  })

  it('fails its checksum for every single wrong character', () => {
    const key = createKeyText()
    let tried = 0
    for (let at = 8; at < key.length; at++) {
      for (const digit of DIGITS) {
        if (digit === key[at]) continue
        tried++
        if (isKeyText(key.slice(0, at) + digit + key.slice(at + 1))) {
          throw new Error(`not seen at ${at}`)
        }
      }
    }
    expect(tried).toBe(36 * 61)
  })

  it('fails its checksum for swapped, missing and added characters', () => {
    const key = 'pb_live_' + 'Ab3'.repeat(10)
    const whole = createKeyText(() => 7)
    expect(isKeyText(key)).toBe(false)
    expect(isKeyText(whole.slice(0, -1))).toBe(false)
    expect(isKeyText(`${whole}0`)).toBe(false)
    expect(isKeyText(whole.replace('pb_live_', 'pb_test_'))).toBe(false)
  })

  it('is redacted to parts that cannot be used', () => {
    const key = createKeyText()
    const { prefix, lastFour } = shownParts(key)
    expect(prefix.length + lastFour.length).toBe(16)
    expect(hashKey(key)).toMatch(/^[0-9a-f]{64}$/)
    const text = redactKeys(`limit is "${key}", or ${key.slice(0, 20)}… or PB_LIVE_x`)
    expect(text).not.toContain(key.slice(8, 14))
    expect(text).toBe('limit is "pb_live_…", or pb_live_…… or pb_live_…')
  })

  it('is derived from a secret deterministically', () => {
    const secret = new Uint8Array(32).fill(3)
    expect(deriveKeyText(secret)).toBe(deriveKeyText(secret))
    expect(isKeyText(deriveKeyText(secret))).toBe(true)
    expect(deriveKeyText(new Uint8Array(32).fill(4))).not.toBe(deriveKeyText(secret))
  })
})
