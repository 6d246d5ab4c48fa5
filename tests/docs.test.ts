import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  ERROR_CODES,
  FLAGS,
  GAP_REASONS,
  VENUE_IDS,
  VIOLATIONS,
} from '../packages/sdk/src/domain/index.ts'
import { COMMANDS } from '../packages/service/src/main.ts'
import { CHUNK_ROWS } from '../packages/service/src/store/embedded/seal.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The first cells of the rows of the table under a heading. */
function cells(file: string, heading: string): string[] {
  const section = read(file)
    .split(/^## /m)
    .find((part) => part.startsWith(heading))
  if (section === undefined) throw new Error(`${file} has no heading ${heading}`)
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]!)
}

/** Both cells of the rows of the table under a heading. */
function pairs(file: string, heading: string): Record<string, string> {
  const section = read(file)
    .split(/^## /m)
    .find((part) => part.startsWith(heading))!
  const rows = section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)
  return Object.fromEntries([...rows].map((match) => [match[1]!, match[2]!]))
}

describe('the docs say what the code says', () => {
  it('lists every error code with its sentence', () => {
    expect(pairs('docs/errors.md', 'Error codes')).toEqual(ERROR_CODES)
  })

  it('lists every violation, gap reason and flag', () => {
    expect(pairs('docs/errors.md', 'Row checks')).toEqual(VIOLATIONS)
    expect(pairs('docs/gaps.md', 'Reasons')).toEqual(GAP_REASONS)
    expect(cells('docs/gaps.md', 'Flags')).toEqual(Object.keys(FLAGS))
  })

  it('says how many rows a chunk has', () => {
    const rows = `${CHUNK_ROWS.toLocaleString('en-US')} rows`
    for (const file of ['docs/tape-format.md', 'ARCHITECTURE.md'])
      expect(read(file)).toContain(rows)
  })

  it('names every venue', () => {
    for (const venue of VENUE_IDS) expect(read('README.md')).toContain(`\`${venue}\``)
  })

  it('shows every command as the program does', () => {
    const text = read('docs/commands.md')
    for (const { usage, about } of COMMANDS) {
      expect(text).toContain(`priorbook-server ${usage}`)
      expect(text).toContain(about)
    }
  })

  it('has no link that leads nowhere', () => {
    const broken: string[] = []
    for (const file of globSync('{*.md,docs/*.md}', { cwd: root })) {
      // Code blocks may hold brackets that are no links.
      const prose = read(file).replaceAll(/^```[\s\S]*?^```/gm, '')
      for (const [, link] of prose.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        if (!existsSync(join(root, dirname(file), link!))) broken.push(`${file}: ${link}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('speaks of npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = new Set<string>()
    for (const file of globSync('{*.md,docs/*.md}', { cwd: root })) {
      for (const [, name] of read(file).matchAll(/npm run ([\w:-]+)/g)) named.add(name!)
    }
    expect([...named].filter((name) => scripts[name] === undefined)).toEqual([])
  })
})
