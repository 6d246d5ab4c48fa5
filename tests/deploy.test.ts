import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configKeys } from '../packages/service/src/config/index.ts'

const DEPLOY = join(import.meta.dirname, '../deploy')
// Not settings: the data folder, and what only `create-database` reads.
const OTHERS = ['PRIORBOOK_DATA', 'PRIORBOOK_DATABASE_PASSWORD']

it('sets only variables that there are', () => {
  const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const named = new Set(
    files
      .flatMap(({ parentPath, name }) => [
        ...readFileSync(join(parentPath, name), 'utf8').matchAll(/\bPRIORBOOK_[A-Z_]+/g),
      ])
      .map(([variable]) => variable),
  )
  const known = new Set([...configKeys().map(({ variable }) => variable), ...OTHERS])
  expect(named.size).toBeGreaterThan(10)
  expect([...named].filter((variable) => !known.has(variable))).toEqual([])
})
