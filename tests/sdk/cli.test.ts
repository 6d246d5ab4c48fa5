import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { createWholeBook } from '../../packages/service/src/store/store-script.testing.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { openFaultProxy, type Fault, type FaultProxy } from './fault-proxy.ts'
import { runCommand, type Ran } from './run-command.ts'

const PROGRAM = join(import.meta.dirname, '../../packages/sdk/bin/priorbook.mjs')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-cli-'))

let api: EmulatedApi
let proxy: FaultProxy
let key: string
let market: string
let fault: (url: string) => Fault = () => 'none'

beforeAll(async () => {
  api = await openSharedApi()
  const { url } = await api.server.listen({ host: '127.0.0.1', port: 0 })
  proxy = await openFaultProxy(url, (_number, address) => fault(address))
  key = api.keyOf()
  market = `venueb:${api.busiest.venueb.record.marketId}`
}, 180_000)

afterAll(async () => {
  await proxy.close()
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

type RunOptions = { readonly env?: Record<string, string> }

const run = (args: readonly string[], { env }: RunOptions = {}): Promise<Ran> =>
  runCommand(
    args,
    { PRIORBOOK_URL: proxy.url, PRIORBOOK_KEY: key, ...env },
    { columns: 80, rows: 24 },
  )

/** Runs the program itself; `stopAfter` so many characters it is interrupted. */
function spawnProgram(args: readonly string[], stopAfter = Infinity): Promise<Ran> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, PRIORBOOK_URL: proxy.url, PRIORBOOK_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  let isStopped = false
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString()
    if (isStopped || out.length <= stopAfter) return
    // A second signal would end it at once.
    isStopped = true
    child.kill('SIGINT')
  })
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, out, err })))
}

const at = (name: string): string => join(folder, name)

// A test that is tried again finds nothing of the time before.
let attempt = 0

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('commands that read', () => {
  it('list markets, for people and for programs', async () => {
    const table = await run(['markets', '--venue', 'venueb', '-n', '3'])
    expect([table.status, table.out.trim().split('\n').length]).toEqual([0, 4])
    expect(table.out).toMatch(/^MARKET +STATUS/)
    expect(table.err).toContain('emulated_data')
    const json = await run(['markets', '--venue', 'venueb', '-n', '3', '--json', '-q'])
    expect(json.err).toBe('')
    expect(lines(json.out).map(({ venue }) => venue)).toEqual(['venueb', 'venueb', 'venueb'])
  })

  it('say their version', async () => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../packages/sdk/package.json'), 'utf8'),
    ) as { version: string }
    for (const word of ['--version', '-V', 'version']) {
      const { status, out } = await run([word])
      expect([status, out]).toEqual([0, `priorbook ${version} (Node ${process.versions.node})\n`])
    }
  })

  it('say how many rows a table leaves out, and align its numbers', async () => {
    const all = lines((await run(['markets', '--venue', 'venueb', '-n', '1000', '--json'])).out)
    const some = await run(['markets', '--venue', 'venueb', '-n', '2'])
    expect(some.err).toContain(`${all.length - 2} more: --limit ${all.length} lists them`)
    const whole = await run(['markets', '--venue', 'venueb', '-n', '1000'])
    expect(whole.err).not.toContain('more')
    const [head = '', ...rows] = whole.out.split('\n')
    const end = head.indexOf('BID') + 'BID'.length
    const points = rows.flatMap((row) => {
      const [bid] = /\d*\.\d+ *$/.exec(row.slice(0, end + 1)) ?? []
      return bid === undefined ? [] : [row.slice(0, end + 1).lastIndexOf('.')]
    })
    expect(points.length).toBeGreaterThan(1)
    expect(new Set(points).size).toBe(1)
  })

  it('take times back as they print them', async () => {
    const listed = (await run(['gaps', market])).out.split('\n')[1]!
    const [start] = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.exec(listed)!
    const seconds = String(Date.parse(`${start.replace(' ', 'T')}Z`) / 1000)
    const counts = await Promise.all(
      [start, seconds, `${start.replace(' ', 'T')}Z`].map(async (text) => {
        const { status, out } = await run(['gaps', market, '--start', text, '--json'])
        return [status, lines(out).length]
      }),
    )
    expect(counts[0]![1]).toBeGreaterThan(0)
    expect(counts).toEqual([counts[2], counts[2], counts[2]])
    expect((await run(['book', market, '--at', start.slice(0, 16)])).err).not.toContain('time')
  })

  it('show a book, now and then', async () => {
    const { status, out } = await run(['book', market, '--depth', '3'])
    expect(status).toBe(0)
    expect(out).toContain(market)
    expect(out).toContain('│')
    const latest = lines((await run(['book', market, '--json'])).out)[0]!
    const then = await run(['book', market, '--at', String(latest['received_time']), '--json'])
    expect(lines(then.out)[0]).toEqual(latest)
    const tokens = await run(['book', `venuec:${api.busiest.venuec.record.marketId}`, '--json'])
    expect(lines(tokens.out)).toHaveLength(2)
  })

  it('list gaps, coverage and the key, which is never shown', async () => {
    const gaps = await run(['gaps', market])
    expect([gaps.status, gaps.out]).toEqual([0, expect.stringContaining('recorder_down')])
    const calendar = await run(['coverage', market])
    expect([calendar.status, calendar.out]).toEqual([0, expect.stringContaining('▒ degraded')])
    expect((await run(['coverage'])).out).toContain('venuea')
    // No trades of the venue's history were fetched: not some of 1970.
    const [covered] = lines((await run(['coverage', market, '--json'])).out)
    expect(covered).toMatchObject({ backfilled_trades: null })
    const { status, out, err } = await run(['whoami'])
    expect([status, out]).toEqual([0, expect.stringMatching(/plan +unlimited/)])
    expect(out + err).not.toContain(key)
  })

  it('replay over the socket and from files, the same rows', async () => {
    const { first, last } = api.busiest.venueb
    const range = ['--start', String(first), '--end', String(last + 1)]
    const served = await run(['replay', market, ...range])
    expect([served.status, served.err]).toEqual([0, ''])
    const rows = lines(served.out).filter(({ type }) => type === 'snapshot' || type === 'update')
    expect(rows).toHaveLength(api.busiest.venueb.rows)
    await run(['download', market, '-f', 'tape', '-o', at('whole.pbx')])
    const local = await run(['replay', at('whole.pbx')], {
      env: { PRIORBOOK_URL: 'http://127.0.0.1:9' },
    })
    expect([local.status, local.err]).toEqual([0, ''])
    const books = lines(local.out).filter(({ type }) => type === 'book')
    const idsOf = (list: Record<string, unknown>[]) => list.map((one) => one['id'])
    const bodies = rows.map(({ row }) => row as Record<string, unknown>)
    expect(idsOf(books)).toEqual(idsOf(bodies))
    for (const [index, book] of books.entries()) {
      const { bids, asks } = bodies[index]!
      expect([book['bids'], book['asks']]).toEqual([bids, asks])
    }
  })

  it('end at Ctrl-C while a replay waits for the recorded pace, of files and over the socket', async () => {
    const { first, last } = api.busiest.venueb
    const range = ['--start', String(first), '--end', String(last + 1)]
    await run(['download', market, '-f', 'tape', '-o', at('paced.pbx')])
    // A second of the record takes days.
    for (const args of [[at('paced.pbx')], [market, ...range]]) {
      const paced = await spawnProgram(['replay', ...args, '--speed', '0.00001'], 0)
      expect([args, paced.status, paced.err]).toEqual([args, 130, ''])
      const shown = lines(paced.out)
      expect(shown.length).toBeGreaterThan(0)
      expect(shown.length).toBeLessThan(api.busiest.venueb.rows)
    }
  })

  it('watch without a terminal, line by line, until they are stopped', async () => {
    const watched = await spawnProgram(['watch', market, '--json'], 500)
    expect(watched.status).toBe(130)
    expect(lines(watched.out).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['welcome', 'subscribed', 'snapshot']),
    )
    const one = await run(['watch', market, '--count', '1'])
    expect([one.status, one.out]).toEqual([0, expect.stringMatching(/seq \d+ +bid .* ask /)])
  })

  it('stop watching a market that has come to its end', async () => {
    const { store } = api
    const { record, key: token, rows, last } = api.busiest.venuea
    const position = (await store.appliedPosition('venuea')) + 1
    const received = (last + 1_000_000) as Micros
    const instrument = { venue: 'venuea', market: record.marketId, key: token } as const
    // The last row comes with the end, of which the stream tells first.
    const resolve = (): Promise<unknown> =>
      store.append({
        venue: 'venuea',
        position,
        origin: 'emulator',
        recorder: 'r1',
        normalizer: 1,
        observations: [createWholeBook(instrument, received, position)],
        revisions: [
          {
            kind: 'market',
            received,
            journal: position,
            record: { ...record, status: 'resolved' },
          },
        ],
      })
    const name = `venuea:${record.marketId}`
    const watching = run(['watch', name])
    await expect.poll(() => api.server.stream.pulse().subscriptions).toBe(1)
    await resolve()
    const during = await watching
    const after = await run(['watch', name])
    for (const { status, out, err } of [during, after]) {
      expect([status, err]).toEqual([0, expect.stringContaining(`${name} is resolved: no more`)])
      expect(out).toContain(`seq ${rows + 1} `)
    }
  })

  it('take the end of a market for a state, not for a gap', async () => {
    const { store } = api
    const { record, key: book } = api.busiest.venuea
    const name = `venuea:${record.marketId}`
    const countOf = async (): Promise<number> =>
      Number(/; (\d+) gaps?$/m.exec((await run(['coverage', name])).out)![1])
    const before = await countOf()
    const received = (await store.instrument({ venue: 'venuea', key: book }))!.lastReceived
    const position = (await store.appliedPosition('venuea')) + 1
    await store.append({
      venue: 'venuea',
      position,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      gaps: [
        {
          venue: 'venuea',
          scope: 'instrument',
          key: book,
          reason: 'market_closed',
          start: received as Micros,
          afterSequence: api.busiest.venuea.rows,
          journal: position,
        },
      ],
    })
    expect(await countOf()).toBe(before)
    expect((await run(['gaps', name])).out).not.toContain('market_closed')
    const asked = await run(['gaps', name, '--reason', 'market_closed'])
    expect(asked.out).toContain('market_closed')
    const all = lines((await run(['gaps', name, '--json'])).out)
    expect(all.map(({ reason }) => reason)).toContain('market_closed')
    const [listed] = lines((await run(['markets', record.marketId, '--json'])).out)
    expect(listed).toMatchObject({ status: 'resolved', coverage: { gaps: before } })
    // The last book offers nothing any more: the table shows the winner in place of its prices.
    const table = (await run(['markets', record.marketId, '--venue', 'venuea'])).out
    const [, row = ''] = table.trim().split('\n')
    expect(row).toMatch(new RegExp(`^${name} +resolved( \\w+)? +– +– `))
  })

  it('end quietly when their reader has enough', async () => {
    // The reader has ended before the first line is written.
    const call = `"${process.execPath}" "${PROGRAM}" gaps --json -q`
    const shell = `exec 3> >(true); wait $!; ${call} >&3; echo $?`
    const child = spawn('bash', ['-c', shell], {
      env: { ...process.env, PRIORBOOK_URL: proxy.url, PRIORBOOK_KEY: key },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => (text += piece.toString()))
    }
    await new Promise((resolve) => child.on('close', resolve))
    expect(text).toBe('141\n')
  })

  it.skipIf(!existsSync('/dev/full'))('say that the disk of their output is full', async () => {
    for (const command of ['markets -q', '--help']) {
      const shell = `"${process.execPath}" "${PROGRAM}" ${command} > /dev/full`
      const child = spawn('sh', ['-c', shell], {
        env: { ...process.env, PRIORBOOK_URL: proxy.url, PRIORBOOK_KEY: key },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let err = ''
      child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
      const status = await new Promise((resolve) => child.on('close', resolve))
      const said = 'priorbook: standard output cannot be written: the disk is full\n'
      expect([command, status, err]).toEqual([command, 1, expect.stringContaining(said)])
      expect(err).not.toContain('    at ')
    }
  })

  it('read the demonstration without a key', async () => {
    const { status, out } = await run(['markets', '--demo', '-n', '1', '--json'], {
      env: { PRIORBOOK_KEY: '' },
    })
    expect([status, lines(out).length]).toEqual([0, 1])
    const watched = await run(['watch', market, '--demo', '--count', '1'], {
      env: { PRIORBOOK_KEY: '' },
    })
    expect([watched.status, watched.out]).toEqual([0, expect.stringContaining('seq ')])
  })
})

describe('exit status', () => {
  const cases: [string, readonly string[], number, RegExp, Record<string, string>?][] = [
    ['no command', [], 2, /^$/],
    ['help', ['help', 'book'], 0, /^$/],
    ['an unknown command', ['markts'], 2, /Did you mean markets/],
    ['an unknown option', ['book', '--deep'], 2, /--deep/],
    ['a mistyped option', ['markets', '--vneue', 'venueb'], 2, /Did you mean --venue\?/],
    [
      'an outcome of one book',
      ['book', 'MARKET', '--outcome', 'No'],
      2,
      /one book for both outcomes/,
    ],
    ['a wrong word', ['markets', '--venue', 'venuex'], 2, /one of venuea, venueb, venuec/],
    ['no market', ['book'], 2, /a market is missing/],
    ['a wrong time', ['book', 'venueb:X', '--at', 'noon'], 2, /not a time: noon/],
    [
      'a parameter that the server refuses',
      ['markets', '--sort', 'volume', '--window', 'x'.repeat(50)],
      2,
      /window/,
    ],
    ['a wrong key', ['whoami'], 3, /invalid_key/, { PRIORBOOK_KEY: 'pb_live_wrong' }],
    ['no key', ['whoami'], 3, /PRIORBOOK_KEY.*--demo/, { PRIORBOOK_KEY: '' }],
    ['an unknown market', ['book', 'venueb:KXNONE'], 4, /unknown_market[\s\S]*exact market ticker/],
    ['an unknown market to watch', ['watch', 'venueb:KXNONE'], 4, /unknown_market/],
    ['a missing file', ['verify', 'nothing.ndjson'], 4, /there is no nothing.ndjson/],
    ['no server', ['whoami', '-q', '--url', 'http://127.0.0.1:9'], 5, /--url or PRIORBOOK_URL/],
    ['another service', ['whoami', '-q', '--url', 'nothing'], 2, /not an address/],
    ['a server without TLS', ['whoami', '-q', '--url', 'HTTPS'], 5, /TLS failed.*\n.*try http:/],
    ['an option before the command', ['--demo', 'markets'], 2, /: priorbook markets --demo\n/],
    ['a key before the command', ['--key=secret', 'markets'], 2, /^(?![\s\S]*secret).*--key/],
    ['a file to replay that is missing', ['replay', 'none.pbx'], 4, /there is no none.pbx/],
    ['a market beside a file', ['replay', 'none.pbx', 'MARKET'], 2, /no file venueb:.*\n.*markets/],
    [
      'a missing folder',
      ['download', 'MARKET', '-o', 'none/x.csv'],
      4,
      /there is no folder none\n/,
    ],
    ['a download to nowhere', ['download', 'MARKET', '-o', '-'], 2, /standard output/],
    ['no rows', ['markets', 'no such words'], 7, /no market matches/],
    ['no rounds', ['panels', 'BTC-7m'], 7, /no round closed in the range/],
    ['no prices', ['reference', 'BTC', '--end', '2020-01-01'], 7, /no prices in the range/],
    ['a time before everything', ['book', 'MARKET', '--at', '2020-01-01'], 7, /there is no book/],
  ]
  it.each(cases)(
    'of %s',
    async (_name, args, status, words, env) => {
      const names: Record<string, string> = {
        MARKET: market,
        HTTPS: proxy.url.replace('http:', 'https:'),
      }
      const named = args.map((word) => names[word] ?? word)
      const ran = await run(named, env === undefined ? {} : { env })
      expect([ran.status, ran.err]).toEqual([status, expect.stringMatching(words)])
      expect(ran.out + ran.err).not.toContain(key)
    },
    60_000,
  )

  it.skipIf(process.platform !== 'linux')('of a place that cannot be written', async () => {
    // The commands name their place by different options.
    for (const option of ['--output', '-o']) {
      const ran = await run(['download', market, option, '/sys/books.ndjson'])
      expect([ran.status, ran.err]).toEqual([1, expect.stringContaining('Choose a place')])
      expect(ran.err).not.toContain('--output')
    }
  })

  it('comes with JSON about the failure where JSON was asked for', async () => {
    const { status, err } = await run(['book', 'venueb:KXNONE', '--json'])
    expect([status, JSON.parse(err)]).toEqual([
      4,
      expect.objectContaining({ error: 'not_found', code: 'unknown_market', status: 4 }),
    ])
  })
})

describe('downloads', () => {
  it.each(['ndjson', 'csv', 'arrow', 'parquet', 'tape'])('of %s are proved', async (format) => {
    const file = at(`${++attempt}-proved.${format}`)
    const loaded = await run(['download', market, '-f', format, '-o', file, '--json'])
    expect(loaded.status).toBe(0)
    expect(lines(loaded.out)[0]).toMatchObject({ path: file, rows: api.busiest.venueb.rows })
    const verified = await run(['verify', file])
    expect([verified.status, verified.out]).toEqual([0, expect.not.stringContaining('BAD')])
    expect(existsSync(`${file}.part`)).toBe(false)
    truncateSync(file, statSync(file).size - 20)
    const broken = await run(['verify', file])
    expect([broken.status, broken.err]).toEqual([6, expect.stringContaining('sha256')])
  })

  it('find rows that break the six checks, without a manifest too', async () => {
    const path = at(`${++attempt}-sound.ndjson`)
    await run(['download', market, '-o', path])
    const text = readFileSync(path, 'utf8').split('\n')
    type Side = { price: number[] } | undefined
    const isDeep = (side: Side): boolean => side !== undefined && side.price.length > 1
    const rows = text
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { bids?: Side; asks?: Side })
      .map((row) => ({ row, deep: [row.bids, row.asks].find(isDeep) }))
    const deep = rows.findIndex((one) => one.deep !== undefined)
    rows[deep]!.deep!.price.reverse()
    const bad = [...text.slice(0, deep), JSON.stringify(rows[deep]!.row)]
    writeFileSync(at('bad.ndjson'), bad.join('\n'))
    const { status, out } = await run(['verify', at('bad.ndjson')])
    expect([status, out]).toEqual([6, expect.stringMatching(/unordered_levels[\s\S]*/)])
    expect(out).toContain('has no receipt')
  })

  it('go on where a broken line left them, in one run', async () => {
    const cut = at(`${++attempt}-cut.ndjson`)
    let cuts = 0
    fault = (url) => (url.startsWith('/v3/bulk?') && cuts++ < 3 ? 'cut' : 'none')
    const { status, out, err } = await run(['download', market, '-o', cut, '--json'])
    fault = () => 'none'
    expect([status, cuts]).toEqual([0, 4])
    expect(err).toContain('again in')
    expect(lines(out)[0]).toMatchObject({ rows: api.busiest.venueb.rows })
    const whole = readFileSync(cut)
    expect((await run(['verify', cut])).status).toBe(0)
    expect(whole.toString().trimEnd().split('\n').at(-1)).toContain('"type":"receipt"')
  })

  it('go on in a second run from what the first one left', async () => {
    const range = [
      '--start',
      String(api.busiest.venueb.first),
      '--end',
      String(api.busiest.venueb.last),
    ]
    const later = at(`${++attempt}-later.ndjson`)
    const args = ['download', market, ...range, '-o', later, '--json']
    // The line breaks once, and then nothing answers any more.
    let asked = 0
    fault = (url) =>
      url.startsWith('/v3/bulk?') ? (asked++ === 0 ? 'cut' : { status: 404 }) : 'none'
    const first = await run(args)
    fault = () => 'none'
    expect(first.status).toBe(4)
    const left = statSync(`${later}.part`).size
    expect(left).toBeGreaterThan(1000)
    const offsets: string[] = []
    fault = (url) => {
      if (url.startsWith('/v3/bulk?')) offsets.push(/offset=(\d+)/.exec(url)![1]!)
      return 'none'
    }
    const second = await run(args)
    fault = () => 'none'
    expect([second.status, offsets]).toEqual([0, [String(left)]])
    expect(lines(second.out)[0]).toMatchObject({ resumed_at: left })
    expect((await run(['verify', later])).status).toBe(0)
    expect(
      readdirSync(folder).filter(
        (name) => name.includes(`${attempt}-later`) && name.includes('part'),
      ),
    ).toEqual([])
    const third = await run(args)
    // The range may be final by now, or not: a file is never replaced without --force.
    expect([0, 2]).toContain(third.status)
    expect((await run([...args, '--force'])).status).toBe(0)
  })

  it('do not keep a part that is not the beginning of the file', async () => {
    const range = [
      '--start',
      String(api.busiest.venueb.first),
      '--end',
      String(api.busiest.venueb.last),
    ]
    const spoiled = at(`${++attempt}-spoiled.csv`)
    const args = ['download', market, ...range, '-o', spoiled, '-f', 'csv']
    let asked = 0
    fault = (url) =>
      url.startsWith('/v3/bulk?') ? (asked++ === 0 ? 'cut' : { status: 404 }) : 'none'
    await run(args)
    fault = () => 'none'
    const part = `${spoiled}.part`
    const bytes = readFileSync(part)
    bytes[100]! ^= 1
    writeFileSync(part, bytes)
    // As if the range could not change any more: then there is no second look.
    const manifest = `${part}.manifest.json`
    const saved = readFileSync(manifest, 'utf8')
    writeFileSync(manifest, saved.replace('"is_final":false', '"is_final":true'))
    const again = await run(args)
    expect([again.status, again.err]).toEqual([6, expect.stringContaining('SHA-256')])
    expect(existsSync(spoiled)).toBe(false)
    expect((await run(args)).status).toBe(0)
    expect((await run(['verify', spoiled])).status).toBe(0)
  })

  it('are refused where another process writes the part, and taken over where it is gone', async () => {
    const path = at(`${++attempt}-locked.csv`)
    const lock = `${path}.part.lock`
    const args = ['download', market, '-o', path, '-f', 'csv']
    let left = ''
    fault = (url) => {
      // What this process wrote, as it stands on disk in the middle of a download.
      if (url.startsWith('/v3/bulk?') && existsSync(lock)) left = readFileSync(lock, 'utf8')
      return 'none'
    }
    expect((await run(args)).status).toBe(0)
    fault = () => 'none'
    rmSync(path)
    const lockOf = (pid: number): string =>
      JSON.stringify({ ...(JSON.parse(left) as object), owner: 'another', pid })
    writeFileSync(lock, lockOf(process.ppid))
    const refused = await run(args)
    expect([refused.status, refused.err]).toEqual([
      1,
      expect.stringMatching(/process \d+ is writing .*\n?.*\.part\n.*run the command again/),
    ])
    expect([existsSync(path), existsSync(`${path}.part`)]).toEqual([false, false])
    // No process has this number: the most is 2^22.
    writeFileSync(lock, lockOf(2 ** 22 + 1))
    expect((await run(args)).status).toBe(0)
    expect([existsSync(lock), (await run(['verify', path])).status]).toEqual([false, 0])
  })

  it('of nothing say why', async () => {
    const { status, err } = await run([
      'download',
      market,
      '--start',
      '2020-01-01',
      '--end',
      '2020-01-02',
    ])
    expect([status, err]).toEqual([7, expect.stringContaining('nothing to download')])
  })

  it('are estimated', async () => {
    const { status, out } = await run(['download', market, '--estimate', '-f', 'parquet'])
    expect([status, out]).toEqual([0, expect.stringContaining(`${api.busiest.venueb.rows} rows`)])
  })
})
