import { expect, test } from 'vitest'
import { editDistance } from './edit-distance.ts'

test('a word that was changed n times is at most n away, and the distance is the same both ways', () => {
  let state = 5
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
  const pick = (text: string): number => Math.floor(random() * text.length)
  const changes: ((text: string, at: number) => string)[] = [
    (text, at) => text.slice(0, at) + text.slice(at + 1),
    (text, at) => `${text.slice(0, at)}x${text.slice(at)}`,
    (text, at) => `${text.slice(0, at)}y${text.slice(at + 1)}`,
    (text, at) => text.slice(0, at) + (text[at + 1] ?? '') + text[at]! + text.slice(at + 2),
  ]
  for (let round = 0; round < 2000; round++) {
    const word = 'presidential'.slice(pick('preside'))
    const one = changes[round % 4]!(word, pick(word))
    expect(editDistance(word, one)).toBeLessThanOrEqual(1)
    const two = changes[Math.floor(random() * 3)]!(one, pick(one))
    // An exchange whose letters are separated afterwards counts as two changes.
    expect(editDistance(word, two)).toBeLessThanOrEqual(round % 4 === 3 ? 3 : 2)
    expect(editDistance(two, word)).toBe(editDistance(word, two))
  }
  expect(editDistance('', 'abc')).toBe(3)
  expect(editDistance('bitcion', 'bitcoin')).toBe(1)
  expect(editDistance('kitten', 'sitting')).toBe(3)
})
