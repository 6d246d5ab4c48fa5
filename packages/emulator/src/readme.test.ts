import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FAULT_KINDS } from './faults/fault.ts'
import { MALFORMED_VARIANTS } from './faults/malform.ts'
import { HELP } from './main.ts'
import { createBroadVenue } from './venues/broad.testing.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

describe('the README', () => {
  it('names every flag, fault and way of spoiling a frame', () => {
    const flags = [...HELP.matchAll(/--[a-z-]+/g)].map(([flag]) => flag)
    for (const word of [...flags, ...FAULT_KINDS, ...MALFORMED_VARIANTS]) {
      expect(readme, `the README lacks ${word}`).toContain(`\`${word}`)
    }
  })

  it('says which routes there are', () => {
    const rows = [...readme.matchAll(/^\| ([BC]) \| `(GET|POST) (\S+)` \| (there|not there) \|/gm)]
    expect(rows.length).toBeGreaterThan(60)
    const venues = { B: createBroadVenue('venueb'), C: createBroadVenue('venuec') }
    const wrong = rows.filter(([, venue, method, path, state]) => {
      const broad = venues[venue as 'B' | 'C']
      const full = `${venue === 'B' ? '/trade-api/v2' : ''}${path!.replaceAll(/\{\w+\}/g, 'x')}`
      const { value } = method === 'GET' ? broad.get(full) : broad.post(full, [])
      const isRoute = !/(route not found|"error":"not found")/.test(JSON.stringify(value))
      return isRoute !== (state === 'there')
    })
    expect(wrong.map(([row]) => row)).toEqual([])
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
