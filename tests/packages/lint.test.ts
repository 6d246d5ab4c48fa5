import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invite, packed } from './stranger.ts'

// What other people's checkers of packages say, in versions that are known to work.
const CHECKERS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5']
const stranger = invite('lint')

beforeAll(() => stranger.install(...CHECKERS), 600_000)

afterAll(() => stranger.leave(), 600_000)

describe('the packed packages', () => {
  it.each(['priorbook-sdk', 'priorbook-emulator', 'priorbook'])(
    '%s: publint finds no fault',
    (name) => {
      const { status, stdout } = stranger.run('publint', [...packed(name), '--strict'])
      expect([status, stdout]).toEqual([0, expect.stringContaining('All good!')])
    },
    60_000,
  )

  // The server has nothing to import. Packages of modules alone have no answer for old resolvers and for require.
  it.each(['priorbook-sdk', 'priorbook-emulator'])(
    '%s: the types are right for Node and for bundlers',
    (name) => {
      const args = [...packed(name), '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']
      const { status, stdout } = stranger.run('attw', args)
      expect([status, stdout]).toEqual([0, expect.any(String)])
      const found = stdout.match(/^(?:node16 \(from ESM\)|bundler): .*$/gm)!
      expect(found.length).toBeGreaterThan(3)
      expect(found.filter((line) => !line.includes(': OK'))).toEqual([])
    },
    60_000,
  )
})
