import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FAULT_KINDS } from './faults/fault.ts'
import { MALFORMED_VARIANTS } from './faults/malform.ts'
import { HELP } from './main.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

describe('the README', () => {
  it('names every flag, fault and way of spoiling a frame', () => {
    const flags = [...HELP.matchAll(/--[a-z-]+/g)].map(([flag]) => flag)
    for (const word of [...flags, ...FAULT_KINDS, ...MALFORMED_VARIANTS]) {
      expect(readme, `the README lacks ${word}`).toContain(`\`${word}`)
    }
  })

  it('has an example that runs', () => {
    const code = readme.split('```ts\n')[1]!.split('```')[0]!
    const folder = mkdtempSync(join(tmpdir(), 'priorbook-readme-'))
    try {
      const file = join(folder, 'example.mjs')
      const url = pathToFileURL(join(import.meta.dirname, 'index.ts')).href
      writeFileSync(file, code.replace('@priorbook/emulator', url))
      const [ticker, numbers] = execFileSync(process.execPath, [file]).toString().split('\n')
      expect(ticker).toMatch(/^KX(BTC|ETH)/)
      expect(numbers).toMatch(/^\d+ 10$/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
