import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const KEY_PREFIX = 'pb_live_'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 30
// 62^6 is just above 2^32: six digits hold a CRC-32.
const SUM_LENGTH = 6
const KEY = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + SUM_LENGTH}}$`)
const SHOWN_PREFIX = KEY_PREFIX.length + 4
const SHOWN_END = 4

/** Creates a new key: 30 random base62 digits (178 bits) and a checksum that catches typing errors. */
export function createKeyText(digit: () => number = () => randomInt(62)): string {
  let text = KEY_PREFIX
  for (let index = 0; index < RANDOM_LENGTH; index++) text += DIGITS[digit()]!
  return text + sumOf(text)
}

/** True when the text has the form of a key and its checksum matches; others are refused without a look-up. */
export function isKeyText(text: string): boolean {
  return KEY.test(text) && text.endsWith(sumOf(text.slice(0, -SUM_LENGTH)))
}

/** The SHA-256 of a key, the only form in which it is stored. */
export function hashKey(text: string): string {
  return hash('sha256', text, 'hex')
}

/** The parts of a key that may be shown: they tell keys apart but cannot be used as one. */
export function shownParts(text: string): { readonly prefix: string; readonly lastFour: string } {
  return { prefix: text.slice(0, SHOWN_PREFIX), lastFour: text.slice(-SHOWN_END) }
}

/** Replaces everything that looks like a key in a text that will be logged or sent. */
export function redactKeys(text: string): string {
  return text.includes('pb_') ? text.replaceAll(/pb_live[\w%.-]*/gi, `${KEY_PREFIX}…`) : text
}

function sumOf(text: string): string {
  let rest = crc32(text)
  let sum = ''
  for (let index = 0; index < SUM_LENGTH; index++) {
    sum = DIGITS[rest % 62]! + sum
    rest = Math.floor(rest / 62)
  }
  return sum
}
