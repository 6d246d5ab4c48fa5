import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { generatedModules, PACKAGE } from './generated-modules.ts'

it('the generated modules of the Python package are those of the OpenAPI document', () => {
  for (const [name, text] of Object.entries(generatedModules())) {
    const isSame = readFileSync(new URL(name, PACKAGE), 'utf8') === text
    expect(isSame ? '' : `${name} is old: npm run models:python`).toBe('')
  }
})
