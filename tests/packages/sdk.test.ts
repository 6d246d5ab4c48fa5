import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invite, packed } from './stranger.ts'

const root = join(import.meta.dirname, '../..')
const stranger = invite('sdk')
const { home: clean } = stranger

beforeAll(() => stranger.install(...packed('priorbook-sdk')), 600_000)

afterAll(() => stranger.leave(), 600_000)

/** Runs a program in the clean folder, where nothing of the workspace is to be found. */
function run(
  name: string,
  code: string,
): { status: number | null; stdout: string; stderr: string } {
  writeFileSync(join(clean, name), code)
  return stranger.run('node', [name])
}

const IMPORT = /^(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/gm

// It needs a package that is installed beside the SDK by those who use it.
const OPTIONAL_DOOR = '@priorbook/sdk/mcp'

describe('the packed SDK', () => {
  it('brings nothing with it and no sources', () => {
    expect(
      readdirSync(join(clean, 'node_modules')).filter((name) => !name.startsWith('.')),
    ).toEqual(['@priorbook'])
    const home = join(clean, 'node_modules/@priorbook/sdk')
    const files = readdirSync(home, { recursive: true }) as string[]
    expect(files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([])
    expect(files.filter((name) => /\.(test|bench|testing)\./.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'lib/index.js']))
    const { private: isPrivate, dependencies } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Record<string, unknown>
    expect([isPrivate, dependencies]).toEqual([undefined, undefined])
  })

  it('is imported by every door', () => {
    const wanted = Object.keys(manifestOf(join(root, 'packages/sdk')).exports!)
    const doors = doorsOf(clean)
    expect(doors).toHaveLength(
      wanted.filter((name) => name !== './mcp' && !name.endsWith('.json')).length,
    )
    const code = doors.map(
      (door) => `console.log(${JSON.stringify(door)}, Object.keys(await import('${door}')).length)`,
    )
    const { status, stdout, stderr } = run('doors.js', code.join('\n'))
    expect([status, stderr]).toEqual([0, ''])
    const counts = stdout
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]))
    expect(counts).toHaveLength(doors.length)
    expect(Math.min(...counts)).toBeGreaterThan(0)
    const optional = run('optional.js', `await import('${OPTIONAL_DOOR}')`)
    expect(optional.stderr).toContain("Cannot find package '@modelcontextprotocol/sdk'")
  })

  it('works: a client, an order book, a codec', () => {
    const { status, stdout, stderr } = run(
      'use.js',
      `import { createClient, OrderBook, VENUE_IDS } from '@priorbook/sdk'
      import { Ladder } from '@priorbook/sdk/tape'
      const client = createClient({ url: 'http://127.0.0.1:9/', retries: 0 })
      const error = await client.health().catch((error) => error)
      const book = OrderBook.from({ venue: 'venueb', market_id: 'M', sequence: 1, received_time: 0,
        bids: { price: ['0.5'], size: ['1'] }, asks: { price: [], size: [] } })
      console.log(error.code, book.best.bid.price, VENUE_IDS.length, new Ladder(2).one)`,
    )
    expect([status, stdout, stderr]).toEqual([0, 'network_failed 0.5 3 100\n', ''])
  })

  it('has nothing of Node behind the doors that browsers use', () => {
    const home = join(clean, 'node_modules/@priorbook/sdk')
    const seen = new Set<string>()
    const found: string[] = []
    const visit = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      const text = readFileSync(file, 'utf8')
      for (const [, first, second] of text.matchAll(IMPORT)) {
        const name = (first ?? second)!
        if (name.startsWith('.')) visit(join(dirname(file), name))
        else found.push(`${file} imports ${name}`)
      }
      // What only Node has without being imported.
      if (/(?<![.\w])(Buffer|process|setImmediate)[.(]/.test(text)) found.push(`${file} uses Node`)
    }
    for (const door of ['', 'client/', 'wire/', 'domain/', 'tape/', 'replay/', 'backtest/']) {
      visit(join(home, 'lib', door, 'index.js'))
    }
    expect(found).toEqual([])
    expect(seen.size).toBeGreaterThan(60)
  })

  it('runs the command line', () => {
    const help = stranger.run('priorbook', ['--help'])
    expect([help.status, help.stderr]).toEqual([0, ''])
    expect(help.stdout).toContain('Usage: priorbook COMMAND')
    const none = stranger.run('priorbook', ['whoami', '--url', 'http://127.0.0.1:9', '-q'], {
      env: { PRIORBOOK_KEY: 'pb_live_none' },
    })
    expect(none.status).toBe(5)
  }, 120_000)

  it('is typed for a program that checks everything', () => {
    writeFileSync(
      join(clean, 'consumer.ts'),
      `import { createClient, OrderBook, PriorbookApiError, type LiveMessage } from '@priorbook/sdk'
      const client = createClient({ url: 'http://x', number_format: 'string' })
      const ids: string[] = []
      for await (const row of client.market({ venue: 'venueb', market_id: 'M' }).snapshots({ depth: 3 })) {
        ids.push(row.id)
        // @ts-expect-error rows of books have no such field
        row.nothing
      }
      // @ts-expect-error the venue is one of three
      client.market({ venue: 'venuex', market_id: 'M' })
      // @ts-expect-error trades know no depth
      client.market({ venue: 'venueb', market_id: 'M' }).trades({ depth: 3 })
      export function fold(book: OrderBook, message: LiveMessage): string | undefined {
        if (message.type === 'hole') return message.key
        if (message.type === 'snapshot' || message.type === 'update') book.apply(message)
        return book.mid
      }
      export const codeOf = (error: unknown): string | undefined =>
        error instanceof PriorbookApiError ? error.code : undefined
      `,
    )
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    for (const module of [
      { module: 'nodenext' },
      { module: 'esnext', moduleResolution: 'bundler' },
    ]) {
      const options = {
        strict: true,
        ...module,
        target: 'es2024',
        lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
        types: [],
        noEmit: true,
        skipLibCheck: false,
      }
      const config = { compilerOptions: options, files: ['consumer.ts'] }
      writeFileSync(join(clean, 'tsconfig.json'), JSON.stringify(config))
      const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', clean], {
        encoding: 'utf8',
      })
      expect([module, status, stdout]).toEqual([module, 0, ''])
    }
  })

  it('has declarations behind every door of Node that a strict program accepts', () => {
    const { devDependencies } = manifestOf(root)
    stranger.install(`@types/node@${devDependencies!['@types/node']}`)
    const lines = doorsOf(clean).map((door, index) => {
      const name = `door${index}`
      return `import * as ${name} from '${door}'\nconsole.log(${name})`
    })
    writeFileSync(join(clean, 'doors.ts'), lines.join('\n'))
    const options = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.iterator', 'esnext.disposable'],
      types: ['node'],
      noEmit: true,
      skipLibCheck: false,
    }
    const config = { compilerOptions: options, files: ['doors.ts'] }
    writeFileSync(join(clean, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', clean], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  })
})

type Manifest = {
  readonly exports?: object
  readonly devDependencies?: Readonly<Record<string, string>>
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

// Those of the packed manifest, without the one that needs another package and the manifest itself.
function doorsOf(folder: string): string[] {
  const { exports = {} } = manifestOf(join(folder, 'node_modules/@priorbook/sdk'))
  return Object.keys(exports)
    .map((name) => name.replace('.', '@priorbook/sdk'))
    .filter((door) => door !== OPTIONAL_DOOR && !door.endsWith('.json'))
}
