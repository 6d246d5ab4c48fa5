import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { VENUE_IDS } from '../packages/sdk/src/domain/index.ts'

// Files outside `venues/` and the emulator that may name a venue, each with its reason.
const EXCEPTIONS: Readonly<Record<string, string>> = {}

const root = join(import.meta.dirname, '..')
const NAME = new RegExp(`['"\`](${VENUE_IDS.join('|')})['"\`]`)
const isTest = (file: string): boolean => /\.(test|contract|testing|bench)\.tsx?$/.test(file)
const isAtHome = (file: string): boolean =>
  file.startsWith('packages/emulator/') || file.includes('/venues/')

/** Lines of code that name a venue; comments may. */
function namesIn(file: string): string[] {
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
    .filter(({ line }) => !/^\s*(\/\/|\*|\/\*)/.test(line) && NAME.test(line))
    .map(({ line, place }) => `${place} ${line.trim()}`)
}

it('no code names a venue outside the folders of venues, so that a new venue is one folder', () => {
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
    .filter((file) => !isTest(file) && !isAtHome(file))
    .sort()
  expect(files.length).toBeGreaterThan(300)
  const named = files.filter((file) => namesIn(file).length > 0)
  expect(named.filter((file) => EXCEPTIONS[file] === undefined).flatMap(namesIn)).toEqual([])
  expect(Object.keys(EXCEPTIONS).filter((file) => !named.includes(file))).toEqual([])
})
