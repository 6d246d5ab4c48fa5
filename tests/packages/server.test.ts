import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invite, packed } from './stranger.ts'

const root = join(import.meta.dirname, '../..')
const stranger = invite('server')
const { home, elsewhere } = stranger

let child: ReturnType<typeof stranger.start> | undefined
let text = ''
let url = ''
let key = ''

beforeAll(() => {
  stranger.install(...packed('priorbook-sdk', 'priorbook-emulator', 'priorbook'))
}, 600_000)

afterAll(async () => {
  if (child !== undefined && child.exitCode === null) {
    const ended = new Promise((resolve) => child!.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  stranger.leave()
}, 600_000)

type Manifest = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly private?: boolean
  readonly engines?: { readonly node: string }
  readonly dependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

const PACKAGES = ['@priorbook/sdk', '@priorbook/emulator', 'priorbook']

describe('the installed packages', () => {
  it('are files of this folder, with nothing of the repository in reach', () => {
    const modules = join(home, 'node_modules')
    const links = readdirSync(modules, { recursive: true, encoding: 'utf8' })
      .map((name) => join(modules, name))
      .filter((path) => lstatSync(path).isSymbolicLink())
      .map((path) => join(dirname(path), readlinkSync(path)))
    expect(links.filter((target) => !target.startsWith(modules))).toEqual([])
    for (const name of PACKAGES) {
      expect(realpathSync(join(modules, name))).toBe(realpathSync(modules) + `/${name}`)
    }
  })

  it('have one version, name each other exactly, and contain neither sources nor tests', () => {
    const { version } = manifestOf(root)
    for (const name of PACKAGES) {
      const folder = join(home, 'node_modules', name)
      const manifest = manifestOf(folder)
      expect(manifest).toMatchObject({ name, version, license: 'MIT' })
      expect([manifest.private, manifest.engines?.node]).toEqual([undefined, expect.any(String)])
      const own = Object.entries(manifest.dependencies ?? {}).filter(([other]) =>
        other.startsWith('@priorbook/'),
      )
      for (const [, wanted] of own) expect(wanted).toBe(version)
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      const junk = /(?<!\.d)\.tsx?$|\.(?:test|testing|bench|contract|reference)\.|tsconfig|\.map$/
      expect(files.filter((file) => junk.test(file))).toEqual([])
      expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'lib', 'bin']))
    }
  })

  it('say in a sentence which Node they need', () => {
    const old =
      'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.1.0"})'
    for (const program of ['priorbook-server', 'priorbook', 'priorbook-emulator']) {
      const file = join(home, 'node_modules/.bin', program)
      const { status, stdout, stderr } = stranger.run('node', ['--import', old, file, '--version'])
      expect([status, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(
        /^\S+ needs Node 2\d\.\d+ or later, this is 20\.1\.0: install it from .*\n$/,
      )
    }
  })

  it('print their version', () => {
    const { version } = manifestOf(root)
    for (const program of ['priorbook-server', 'priorbook', 'priorbook-emulator']) {
      const { status, stdout, stderr } = stranger.run(program, ['--version'])
      expect([program, status, stderr]).toEqual([program, 0, ''])
      expect(stdout).toContain(version)
    }
  })
})

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}${path}`, { headers })

/** The newest answer of a route that satisfies a condition. */
async function until<T>(path: string, isGood: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const response = await get(path, { authorization: `Bearer ${key}` })
    const answer = (await response.json()) as T
    if (response.ok && isGood(answer)) return answer
    if (child!.exitCode !== null) throw new Error(`the server ended:\n${text}`)
    await pause(200)
  }
}

type Page<T> = { readonly data: readonly T[] }
type Market = {
  readonly venue: string
  readonly market_id: string
  readonly close_time: string
  readonly coverage: { readonly observations: number }
}

describe('the installed server', () => {
  it('records the emulated venues and serves them', async () => {
    const ports = ['--port', '0', '--ops-port', '0']
    child = stranger.start('priorbook-server', ['serve', '--speed', '20', ...ports])
    child.stdout!.on('data', (part) => (text += String(part)))
    child.stderr!.on('data', (part) => (text += String(part)))
    while (!/^ {2}curl/m.test(text)) {
      if (child.exitCode !== null) throw new Error(`the server ended:\n${text}`)
      await pause(50)
    }
    url = /(http:\/\/\S+)\/docs/.exec(text)![1]!
    key = /pb_live_\w+/.exec(text)![0]
    for (const venue of ['venuea', 'venueb', 'venuec']) {
      const { data } = await until<Page<Market>>(
        `/v3/markets?venue=${venue}&status=open&limit=1`,
        (page) => page.data.length === 1,
      )
      expect(data[0]!.venue).toBe(venue)
    }
  }, 600_000)

  it('serves the explorer with its licences, the docs and the guides', async () => {
    const page = await get('/', { accept: 'text/html' })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const html = await page.text()
    const script = /<script type="module"[^>]* src="([^"]+)"/.exec(html)![1]!
    const answer = await get(script, { 'accept-encoding': 'br' })
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'br'])
    expect((await answer.text()).length).toBeGreaterThan(1000)
    expect(await (await get('/licenses.txt')).text()).toContain('preact')
    const docs = await (await get('/docs', { accept: 'text/html' })).text()
    expect(docs).toMatch(/<script type="module">[^]{1000,}<\/script>/)
    expect((await get('/guides', { accept: 'text/html' })).status).toBe(200)
    expect((await get('/v3/openapi.json')).status).toBe(200)
    expect((await get('/v3/demo/venueb/markets?limit=1')).status).toBe(200)
  })

  it('is read by a typed program and by plain JavaScript', async () => {
    // A market is listed before its first book comes.
    await until<Page<Market>>('/v3/markets?venue=venueb&status=open', ({ data }) =>
      data.some(({ coverage }) => coverage.observations > 0),
    )
    const code = (annotation: string) => `import { createClient, OrderBook } from '@priorbook/sdk'
const client = createClient({ url: process.env['URL']${annotation}, key: process.env['KEY']${annotation} })
let books = 0
for await (const market of client.markets({ status: 'open', venue: 'venueb' }).take(20)) {
  const { data } = await client.market(market).latest()
  for (const row of data) if (OrderBook.from(row).venue === 'venueb') books++
}
console.log(books > 0)
`
    for (const [name, source] of [
      ['reader.ts', code('!')],
      ['reader.js', code('')],
    ] as const) {
      writeFileSync(join(home, name), source)
      const { status, stdout, stderr } = stranger.run('node', [name], {
        env: { URL: url, KEY: key },
      })
      expect([name, status, stdout, stderr]).toEqual([name, 0, 'true\n', ''])
    }
  })

  it('runs a backtest of a strategy that lies outside of any project', async () => {
    // A market with enough rows, so that the strategy has seen a book. Of these, the one that closes last is chosen:
    // near the end of a round the book of the winning outcome has no asks, so the strategy could not buy.
    const hasRows = ({ coverage }: Market): boolean => coverage.observations >= 50
    const byClose = (a: Market, b: Market): number => a.close_time.localeCompare(b.close_time)
    const { data } = await until<Page<Market>>('/v3/markets?venue=venueb&status=open', (page) =>
      page.data.some(hasRows),
    )
    const { market_id } = data.filter(hasRows).sort(byClose).at(-1)!
    writeFileSync(
      join(elsewhere, 'strategy.ts'),
      `import { defineStrategy } from '@priorbook/sdk/backtest'
import { VENUE_IDS } from '@priorbook/sdk/domain'

export const strategy = defineStrategy(() => ({
  name: 'taker of ' + VENUE_IDS.length,
  onBook(book, { buy, position }) {
    const { id } = book.market
    if (book.bestAsk === null || book.outcome !== 0 || position(id).shares[0] !== 0) return
    buy({ market: id, size: 10 })
  },
}))
`,
    )
    const env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
    const market = `venueb:${market_id}`
    const download = ['download', market, '--format', 'tape', '-o', 'books.pbx', '-q']
    expect(stranger.run('priorbook', download, { cwd: elsewhere, env })).toMatchObject({
      status: 0,
    })
    const assume = ['--assume', 'venueb-maker=none,venueb-tick=0.01']
    const args = ['backtest', 'strategy.ts', 'books.pbx', ...assume, '--out', 'report', '-q']
    const { status, stderr } = stranger.run('priorbook', args, { cwd: elsewhere })
    expect([status, stderr]).toEqual([0, expect.stringContaining('report: report.html')])
    const report = JSON.parse(readFileSync(join(elsewhere, 'report/report.json'), 'utf8')) as {
      readonly status: string
      readonly fills: { readonly count: number }
    }
    expect(report.status).toBe('complete')
    expect(report.fills.count).toBeGreaterThan(0)
  }, 120_000)

  it('stops in order, leaves no process and a sound tape', async () => {
    const ended = new Promise<number | null>((resolve) => child!.once('exit', resolve))
    child!.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(processesOf(home)).toEqual([])
    const checked = stranger.run('priorbook-server', [
      'verify',
      '--data',
      'data/emulator',
      '--json',
    ])
    expect([checked.status, checked.stderr]).toEqual([0, ''])
    const { observations } = JSON.parse(checked.stdout) as { readonly observations: number }
    expect(observations).toBeGreaterThan(50)
  }, 120_000)
})

// The command lines of all processes that name a folder.
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        // It ended meanwhile.
        return ''
      }
    })
    .filter((line) => line.includes(folder))
}
