import { editDistance } from '../domain/index.ts'

// Longer words may have more mistakes: one in every three characters, at most three.
const LETTERS_PER_MISTAKE = 3
const MAX_MISTAKES = 3

/** The known word that a mistyped one is closest to, or begins; undefined where none is similar. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const bare = typed.replace(/^-+/, '')
  const begun = words.filter((word) => bare.length >= 3 && word.startsWith(typed))
  if (begun.length === 1) return begun[0]
  const most = Math.min(MAX_MISTAKES, Math.max(1, Math.floor(bare.length / LETTERS_PER_MISTAKE)))
  const measured = words
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
  return measured[0]?.word
}
