import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-pack-'))
const built = join(folder, 'built')
const clean = join(folder, 'clean')
const env = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(':'),
  npm_config_cache: join(folder, 'cache'),
  npm_config_update_notifier: 'false',
}

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'scripts/build-package.mjs'), 'sdk', '--out', built])
  const quiet = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--offline']
  execFileSync('npm', ['pack', ...quiet, '--pack-destination', folder], { cwd: built, env })
  mkdirSync(clean)
  writeFileSync(join(clean, 'package.json'), '{"name":"clean","private":true,"type":"module"}')
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  execFileSync('npm', ['install', ...quiet, join(folder, tarball)], { cwd: clean, env })
}, 180_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program in the clean folder, where nothing of the workspace is to be found. */
function run(
  name: string,
  code: string,
): { status: number | null; stdout: string; stderr: string } {
  writeFileSync(join(clean, name), code)
  return spawnSync(process.execPath, [name], { cwd: clean, encoding: 'utf8' })
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
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'index.js']))
    const { private: isPrivate, dependencies } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Record<string, unknown>
    expect([isPrivate, dependencies]).toEqual([undefined, undefined])
  })

  it('is imported by every door', () => {
    const doors = Object.keys(
      (
        JSON.parse(readFileSync(join(root, 'packages/sdk/package.json'), 'utf8')) as {
          exports: object
        }
      ).exports,
    )
      .map((name) => name.replace('.', '@priorbook/sdk'))
      .filter((door) => door !== OPTIONAL_DOOR)
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
      visit(join(home, door, 'index.js'))
    }
    expect(found).toEqual([])
    expect(seen.size).toBeGreaterThan(60)
  })

  it('runs the command line', () => {
    const program = join(clean, 'node_modules/.bin/priorbook')
    const help = spawnSync(program, ['--help'], { cwd: clean, encoding: 'utf8', env })
    expect([help.status, help.stderr]).toEqual([0, ''])
    expect(help.stdout).toContain('Usage: priorbook COMMAND')
    const none = spawnSync(program, ['whoami', '--url', 'http://127.0.0.1:9', '-q'], {
      cwd: clean,
      encoding: 'utf8',
      env: { ...env, PRIORBOOK_KEY: 'pb_live_none' },
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
    const options = {
      strict: true,
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: [],
      noEmit: true,
      skipLibCheck: false,
    }
    const config = { compilerOptions: options, files: ['consumer.ts'] }
    writeFileSync(join(clean, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', clean], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  })
})
