import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../packages/sdk/src/cli/commands/index.ts'
import { EXIT_CODES } from '../../packages/sdk/src/cli/errors.ts'
import { CLIENT_ERRORS } from '../../packages/sdk/src/client/index.ts'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { pause, start, type Running } from '../capture/harness.ts'
import { hasEnough } from './enough.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-docs-'))

let run: Running
let access: Access
let server: ApiServer
let env: Record<string, string>

beforeAll(async () => {
  // The examples watch one market until something happens in it: none pauses, few close meanwhile.
  run = await start({ seed: 3, rates: { changes: 20, trades: 1.2, pauses: 0 } })
  const home = join(dirname(run.data.tape), 'access')
  mkdirSync(home)
  access = openAccess(home)
  server = createApiServer({ store: run.store, access })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 'docs' })
  // What a user has: the package by its name, the program in the path.
  mkdirSync(join(folder, 'node_modules/@priorbook'), { recursive: true })
  symlinkSync(join(root, 'packages/sdk'), join(folder, 'node_modules/@priorbook/sdk'))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(root, 'packages/sdk/bin/priorbook.mjs'), join(folder, 'bin/priorbook'))
  const PATH = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const { NODE_COMPILE_CACHE = '' } = process.env
  env = { PATH, NODE_COMPILE_CACHE, PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
  // Books of every venue, a few trades.
  while (!(await hasEnough(run.store))) await pause(100)
}, 180_000)

afterAll(async () => {
  await server.close(500)
  access.close()
  await run.destroy()
  rmSync(folder, { recursive: true, force: true })
})

const QUARTER_MS = 900_000

/** Rounds close every quarter of an hour: waits for the next ones where the examples would not be done before. */
async function waitForTime(neededMs: number): Promise<void> {
  const leftMs = QUARTER_MS - (Date.now() % QUARTER_MS)
  // The new rounds have books a few seconds after they open.
  if (leftMs < neededMs) await pause(leftMs + 10_000)
}

function blocksOf(file: string, language: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return [...blocks].map(([, block]) => block!)
}

async function execute(
  program: string,
  args: readonly string[],
  cwd = folder,
): Promise<[number | null, string, string]> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return [code, out, err]
}

describe('the docs of the SDK', () => {
  it('have examples that run', async () => {
    const examples = [
      ...blocksOf('docs/guide/sdk.md', 'ts'),
      ...blocksOf('packages/sdk/README.md', 'ts').map((code) =>
        code.replace("'http://127.0.0.1:8780'", 'process.env.PRIORBOOK_URL'),
      ),
    ]
    expect(examples.length).toBeGreaterThanOrEqual(9)
    for (const [index, code] of examples.entries()) {
      writeFileSync(join(folder, `example-${index}.ts`), code)
    }
    const all = examples.map(
      (_, index) => `console.log('example ${index}'); await import('./example-${index}.ts')`,
    )
    writeFileSync(join(folder, 'all.mjs'), all.join('\n'))
    await waitForTime(120_000)
    const [code, out, err] = await execute(process.execPath, ['--no-warnings', 'all.mjs'])
    expect([code, err]).toEqual([0, ''])
    const shown = out.split(/^example \d+$/m).slice(1)
    expect(shown).toHaveLength(examples.length)
    // Each of them prints something.
    expect(shown.filter((text) => text.trim() === '')).toEqual([])
    expect(out).toContain('unknown_market 404 market_ticker')
  }, 400_000)

  it('list every error of the client', () => {
    const rows = readFileSync(join(root, 'docs/guide/sdk.md'), 'utf8').matchAll(
      /^\| `(\w+)` \| (.+) \|$/gm,
    )
    const table = new Map([...rows].map(([, code, meaning]) => [code, meaning]))
    for (const [code, meaning] of Object.entries(CLIENT_ERRORS)) {
      expect([code, table.get(code)]).toEqual([code, meaning])
    }
  })
})

describe('the docs of the command line', () => {
  it('have examples that run', async () => {
    // A folder of its own: what is there is not replaced.
    const place = mkdtempSync(join(folder, 'shell-'))
    // No round may have closed yet, which the status 7 says.
    const script = blocksOf('docs/guide/cli.md', 'sh')
      .join('\n')
      .replaceAll(/^priorbook panels .*$/gm, '$& || [ $? -eq 7 ]')
    await waitForTime(120_000)
    const [code, out, err] = await execute('sh', ['-eu', '-c', script], place)
    const said = err.replaceAll('priorbook: no round closed in the range\n', '')
    expect([code, said]).toEqual([0, expect.not.stringContaining('priorbook:')])
    expect(out).toContain('│')
    expect(out).toContain('"type":"snapshot"')
    expect(out).not.toContain('BAD')
    expect(readFileSync(join(place, 'rows.ndjson'), 'utf8')).toContain('"finished"')
    expect(readFileSync(join(place, 'events.ndjson'), 'utf8')).toContain('"type":"book"')
  }, 400_000)

  it('have a heading for every command and a row for every exit status', () => {
    const text = readFileSync(join(root, 'docs/guide/cli.md'), 'utf8')
    const headings = [...text.matchAll(/^## (.+)$/gm)].flatMap(([, name]) => name!.split(' and '))
    expect(headings.sort()).toEqual(COMMANDS.map(({ name }) => name).sort())
    for (const { status, about } of Object.values(EXIT_CODES)) {
      expect(text).toContain(`| \`${status}\` | ${about} |`)
    }
  })
})
