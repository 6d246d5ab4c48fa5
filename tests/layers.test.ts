import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

// The table of allowed imports. A folder may import itself and what stands beside it; nothing else.
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'sdk/domain': [],
  'sdk/tape': ['sdk/domain'],
  'sdk/wire': ['sdk/tape', 'sdk/domain'],
  'service/lib': [],
  'service/journal': ['sdk/domain'],
  'service/venues': ['sdk/domain', 'sdk/tape', 'service/lib'],
  'service/store': ['sdk/domain', 'sdk/tape', 'service/lib'],
  'service/recorder': [
    'sdk/domain',
    'sdk/tape',
    'service/lib',
    'service/journal',
    'service/venues',
    'service/store',
  ],
  'service/commands': [
    'sdk/domain',
    'sdk/tape',
    'service/lib',
    'service/journal',
    'service/recorder',
    'service/store',
  ],
  'service/main.ts': ['sdk/domain', 'service/commands'],
}

// Runtime-neutral code: a browser must be able to run it.
const NEUTRAL = ['sdk/domain', 'sdk/tape', 'sdk/wire']
const NODE_ONLY = ['packages/sdk/src/tape/platform-node.ts', 'packages/sdk/src/tape/zstd-node.ts']

const root = join(import.meta.dirname, '..')
const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g

/** The folder of the table that a file of the packages belongs to, such as `service/store`. */
function layerOf(file: string): string | undefined {
  const match = /^packages\/(\w+)\/src\/([^/]+)/.exec(file)
  return match === null ? undefined : `${match[1]}/${match[2]}`
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)].map((match) => (match[1] ?? match[2])!)
}

function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    return layerOf(relative('.', normalize(join(dirname(file), specifier))))
  }
  const match = /^@priorbook\/sdk\/(\w+)/.exec(specifier)
  return match === null ? undefined : `sdk/${match[1]}`
}

const isTest = (file: string): boolean =>
  /\.(test|contract|testing|bench|reference)\.ts$/.test(file)
const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter((file) => !isTest(file))

describe('the direction of imports', () => {
  it('knows every folder of the packages', () => {
    expect(files.length).toBeGreaterThan(40)
    const layers = new Set(files.map(layerOf))
    expect(layers).toEqual(new Set(Object.keys(ALLOWED)))
  })

  it('is the one of the table', () => {
    const wrong = files.flatMap((file) => {
      const own = layerOf(file)!
      return importsOf(file)
        .map((specifier) => targetOf(file, specifier))
        .filter((target) => target !== undefined && target !== own)
        .filter((target) => !ALLOWED[own]!.includes(target!))
        .map((target) => `${file} imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  it('keeps Node out of what a browser runs', () => {
    const wrong = files
      .filter((file) => NEUTRAL.includes(layerOf(file)!) && !NODE_ONLY.includes(file))
      .filter((file) => importsOf(file).some((specifier) => specifier.startsWith('node:')))
    expect(wrong).toEqual([])
  })
})
