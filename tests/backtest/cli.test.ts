import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeBacktestFiles } from '../../bench/lib/backtest-files.ts'
import { generateRecordings } from '../../bench/lib/generator.ts'
import { EXIT_CODES } from '../../packages/sdk/src/cli/errors.ts'
import type { CommandIo } from '../../packages/sdk/src/command-line/index.ts'
import { main } from '../../packages/sdk/src/cli/main.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-backtest-cli-'))
let files: readonly string[] = []

beforeAll(() => {
  generateRecordings(join(folder, 'recordings'), 5, 0.01)
  files = writeBacktestFiles(join(folder, 'recordings'), join(folder, 'tape'), 1).files
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function strategyFile(name: string, body: string): string {
  const file = join(folder, `${name}.ts`)
  writeFileSync(file, `export const strategy = ${body}\n`)
  return file
}

async function priorbook(...argv: readonly string[]) {
  let out = ''
  let err = ''
  const io: CommandIo = {
    async write(text) {
      out += typeof text === 'string' ? text : Buffer.from(text).toString()
    },
    note: (line) => void (err += `${line}\n`),
    draw: (text) => void (err += text),
    isTty: false,
    isErrorTty: false,
    env: {},
    paint: (_, text) => text,
    size: () => ({ columns: 80, rows: 24 }),
  }
  const status = await main(argv, io)
  return { status, out, err }
}

const TAKER = `(params) => ({
  name: 'taker',
  onBook(book, { buy, position }) {
    const { id } = book.market
    const size = Number(params.size ?? 1)
    if (book.bestAsk !== null && position(id).shares[0] < size) buy({ market: id, size })
  },
})`

describe('priorbook backtest', () => {
  it('runs files, writes its reports and explains an order', async () => {
    const out = join(folder, 'report')
    const file = strategyFile('taker', TAKER)
    const run = await priorbook('backtest', file, ...files, '--out', out, '--why', '1')
    expect(run.status).toBe(EXIT_CODES.ok.status)
    expect(run.out).toMatch(/^result {17}-?\d/m)
    expect(run.out).toMatch(/^result {17}-?[\d.]+ USD$/m)
    expect(run.out).toMatch(/^fees {19}[\d.]+ USD$/m)
    expect(run.out).toMatch(/^observed {15}\d+\.\d %, [\d,]+ books/m)
    expect(run.out).toMatch(
      /^models {17}queue pessimistic, proportional and optimistic; orders arrive after 50 ms; gaps: cancel$/m,
    )
    expect(run.out).toContain('took what the recorded book showed')
    expect(run.out).toContain('does not reproduce hidden liquidity')
    expect(run.err).toContain('newest record')
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as {
      format: string
      headline: { return_on_peak_capital: number | null }
      fills: { count: number }
    }
    expect(report.format).toBe('priorbook-backtest/1')
    const part = report.headline.return_on_peak_capital!
    expect(run.out).toContain(`USD (return ${(part * 100).toFixed(1)} %)`)
    const lines = readFileSync(join(out, 'fills.csv'), 'utf8').trim().split('\n')
    expect(lines).toHaveLength(report.fills.count + 1)
    expect(readFileSync(join(out, 'report.html'), 'utf8')).toContain('</svg>')
    for (const name of ['orders', 'markets', 'equity', 'settlements']) {
      expect(existsSync(join(out, `${name}.csv`))).toBe(true)
    }
  })

  it('writes what the run was made of, and compares two reports', async () => {
    const [one, two] = [join(folder, 'one'), join(folder, 'two')]
    const file = strategyFile('compared', TAKER)
    const words = [file, ...files, '-q', '--out'] as const
    await priorbook('backtest', ...words, one)
    await priorbook('backtest', ...words, two, '--params', 'size=3')
    const [first, second] = [join(one, 'report.json'), join(two, 'report.json')]
    const { inputs } = JSON.parse(readFileSync(first, 'utf8')) as {
      inputs: { strategy: { sha256: string }; files: { name: string; sha256: string }[] }
    }
    const digest = (path: string): string => hash('sha256', readFileSync(path), 'hex')
    expect(inputs.strategy.sha256).toBe(digest(file))
    expect(inputs.files.map(({ sha256 }) => sha256)).toEqual(files.map(digest))
    const html = readFileSync(join(one, 'report.html'), 'utf8')
    expect(html).toContain(digest(file))
    expect(html).toMatch(/href="http:\/\/127\.0\.0\.1:8780\/market\/venue[abc]\/[^"]+\?t=2026-/)

    const out = join(folder, 'compared-out')
    const run = await priorbook('backtest', '--compare', first, second, '--out', out)
    expect(run.status).toBe(EXIT_CODES.ok.status)
    expect(run.out).toMatch(/^ +one +two +difference$/m)
    expect(run.out).toMatch(/^result +-?[\d.]+ +-?[\d.]+ +-?[\d.]+$/m)
    expect(run.out).toMatch(/^parameters +\{\} +\{"size":3\}$/m)
    expect(run.out).not.toContain('strategy file')
    expect(readFileSync(join(out, 'comparison.html'), 'utf8')).toContain('one and two')

    const alone = await priorbook('backtest', '--compare', first)
    expect(alone.status).toBe(EXIT_CODES.usage.status)
    const wrong = await priorbook('backtest', '--compare', first, file)
    expect(wrong.status).toBe(EXIT_CODES.incomplete.status)
    expect(wrong.err).toContain('The file is not JSON.')
    const absent = await priorbook('backtest', '--compare', first, join(folder, 'none.json'))
    expect(absent.status).toBe(EXIT_CODES.not_found.status)
  })

  it('delays events and answers, limits the account, and says so', async () => {
    const body = `() => {
      let sent = 0
      let last = 0
      return {
        onBook(book, { now, buy, log }) {
          if (sent === 3) return
          if (sent++ === 0) log('book ' + (now - book.time))
          buy({ market: book.market.id, size: 4 })
        },
        onFill: (fill, { now, log }) => log('fill ' + (now - fill.at)),
        onOrder: (order) => { last = order.reason },
        onEnd: ({ log }) => log('last ' + last),
      }
    }`
    const file = strategyFile('delayed', body)
    const out = join(folder, 'delayed')
    const delays = ['--latency', '20', '--feed-latency', '7.5', '--ack-latency', '30'] as const
    const words = [...delays, '--limits', 'position=6,loss=50.5,rate=100', '--out', out] as const
    const run = await priorbook('backtest', file, files[0]!, '-q', ...words)
    expect(run.status).toBe(EXIT_CODES.ok.status)
    expect(run.out).toContain(
      'orders arrive after 20 ms; events are seen after 7.5 ms; answers after 30 ms; gaps: cancel; limits: position 6, loss 50.5, rate 100',
    )
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as {
      run: { latency: unknown; limits: unknown }
      orders: { reasons: unknown }
      logs: string[]
    }
    expect(report.run.latency).toEqual({
      feed: 7500,
      entry: 20_000,
      cancel: 20_000,
      acknowledge: 30_000,
    })
    expect(report.run.limits).toEqual({ position: '6', loss: '50.5', rate: 100 })
    expect(report.orders.reasons).toEqual({ position_limit: 2 })
    const logs = report.logs.map((line) => line.slice(line.indexOf(' ') + 1))
    expect(logs).toContain('book 7500')
    expect(logs).toContain('fill 30000')
    expect(logs.at(-1)).toBe('last position_limit')
    const html = readFileSync(join(out, 'report.html'), 'utf8')
    expect(html).toContain('limits of the account')
    expect(html).toContain('{&quot;position&quot;:&quot;6&quot;')
  })

  it('names the files of series of your own with their hash', async () => {
    const series = join(folder, 'model.csv')
    writeFileSync(series, 'known,chance\n2026-08-01T00:00:00Z,0.5\n')
    const [one, two] = [join(folder, 'series-one'), join(folder, 'series-two')]
    const file = strategyFile('series', '() => ({ onData() {} })')
    const words = [file, files[0]!, '-q', '--data', `model=${series}:known`, '--out'] as const
    await priorbook('backtest', ...words, one)
    const digest = (path: string): string => hash('sha256', readFileSync(path), 'hex')
    const { inputs } = JSON.parse(readFileSync(join(one, 'report.json'), 'utf8')) as {
      inputs: { data: unknown }
    }
    const facts = { feed: 'model', name: 'model.csv', bytes: 38, sha256: digest(series) }
    expect(inputs.data).toEqual([{ ...facts, column: 'known' }])
    expect(readFileSync(join(one, 'report.html'), 'utf8')).toContain(digest(series))
    writeFileSync(series, 'known,chance\n2026-08-01T00:00:00Z,0.6\n')
    await priorbook('backtest', ...words, two)
    const files2 = [join(one, 'report.json'), join(two, 'report.json')] as const
    const compared = await priorbook('backtest', '--compare', ...files2)
    expect(compared.out).toMatch(/^data files +model [0-9a-f]{64}/m)
  })

  it('sweeps and tests on a holdout with the same result every time', async () => {
    const file = strategyFile('swept', TAKER)
    const words = [file, ...files, '--queue', 'pessimistic', '-q'] as const
    const swept = await priorbook('backtest', ...words, '--params', 'size=1|3|5,name=x')
    expect(swept.out.match(/size=\d name=x/g)).toHaveLength(3)
    const split = await priorbook(
      'backtest',
      ...words,
      '--params',
      'size=1|3',
      '--split',
      '2026-08-10T12:00:00Z',
    )
    expect(split.out).toContain('before the split')
    const again = await priorbook('backtest', ...words, '--params', 'size=1|3|5,name=x')
    expect(again.out).toBe(swept.out)
  })

  it('runs an object once and says so, and refuses several runs of it', async () => {
    const file = strategyFile('object', "{ name: 'still' }")
    const once = await priorbook('backtest', file, ...files)
    expect(once.status).toBe(EXIT_CODES.ok.status)
    expect(once.out).toMatch(/^! The strategy is an object, so only the pessimistic queue model/m)
    expect(once.out).toMatch(/^models {17}queue pessimistic; /m)
    const thrice = await priorbook('backtest', file, ...files, '--queue', 'bracket')
    expect(thrice.status).toBe(EXIT_CODES.usage.status)
    expect(thrice.err).toContain('the strategy is an object')
  })

  it('begins with the reasons if every order was refused', async () => {
    const body = `() => ({
      onQuote: ({ market }, { buy }) => void buy({ market: market.id, price: '0.5001', size: 1 }),
    })`
    const run = await priorbook('backtest', strategyFile('refused', body), ...files)
    expect(run.out).toMatch(
      /^! All \d+ orders were refused and nothing was traded\. \d+ off_tick: /,
    )
    expect(run.out).toMatch(/^orders {17}(\d+) sent, \1 refused \(off_tick \1\), 0 with fills$/m)
  })

  it('stops a strategy that loops and names the hook where one failed', async () => {
    const loop = strategyFile('loop', '{ onBook() { for (;;) {} } }')
    const looped = await priorbook('backtest', loop, ...files, '--timeout', '2')
    expect(looped.status).toBe(EXIT_CODES.failed.status)
    expect(looped.err).toContain('did not come back for 2 s')
    const bad = strategyFile('bad', "{ onBook() { throw new Error('no idea') } }")
    const failed = await priorbook('backtest', bad, ...files)
    expect(failed.status).toBe(EXIT_CODES.failed.status)
    expect(failed.out).toContain('failed in onBook')
    expect(failed.err).toContain('no idea')
  })

  it('ends with 1 where any run failed, also with --json and beside a better run', async () => {
    const bad = strategyFile('bad-json', "{ onBook() { throw new Error('no idea') } }")
    const failed = await priorbook('backtest', bad, ...files, '--json')
    expect(failed.status).toBe(EXIT_CODES.failed.status)
    expect(JSON.parse(failed.out)).toMatchObject({ status: 'failed' })
    const said = JSON.parse(failed.err.trim().split('\n').at(-1)!) as { message: string }
    expect(said).toMatchObject({ error: 'failed', status: 1 })
    expect(said.message).toBe('the strategy failed: Error: no idea')

    // Does nothing, so that the run that failed at its first book is not the best one.
    const body = `({ fails }) => ({
      onBook(book, { buy }) {
        if (!fails) return
        buy({ market: book.market.id, size: 1 })
        if (book.sequence > 20) throw new Error('no idea')
      },
    })`
    const words = ['--queue', 'pessimistic', '-q', '--params', 'fails=false|true'] as const
    const some = strategyFile('some', body)
    const swept = await priorbook('backtest', some, ...files, ...words)
    expect(swept.out).toMatch(/^fails=false +0 /m)
    expect(swept.err).toContain('failed in 1 of 2 runs: Error: no idea, with fails=true')
    expect(swept.status).toBe(EXIT_CODES.failed.status)
    const json = await priorbook('backtest', some, ...files, ...words, '--json')
    const states = json.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { status: string }).status)
    expect([states, json.status]).toEqual([['complete', 'failed'], EXIT_CODES.failed.status])
    const split = await priorbook(
      'backtest',
      some,
      ...files,
      ...words,
      '--split',
      '2026-08-10T12:00:00Z',
    )
    expect(split.out).toContain('before the split')
    expect(split.err).toContain('failed in 1 of 3 runs')
    expect(split.status).toBe(EXIT_CODES.failed.status)
  })

  it.each([
    [['backtest'], 'usage', 'the strategy is missing'],
    [['backtest', 'nothing.ts', 'x.tape'], 'not_found', 'no file nothing.ts'],
    [['backtest', 'STRATEGY'], 'usage', 'nothing to run over'],
    [['backtest', 'STRATEGY', 'FILE', '--markets', 'venueb:X'], 'usage', 'not both'],
    [['backtest', 'STRATEGY', 'FILE', '--queue', 'hopeful'], 'usage', '--queue is hopeful'],
    [['backtest', 'STRATEGY', 'FILE', '--params', '=3'], 'usage', '--params holds =3'],
    [['backtest', 'STRATEGY', 'FILE', '--assume', 'venuex-tick=1'], 'usage', '--assume holds'],
    [['backtest', 'STRATEGY', 'FILE', '--cash', 'much'], 'usage', '--cash is much'],
    [['backtest', 'STRATEGY', 'FILE', '--latency', '-5s'], 'usage', '--latency'],
    [['backtest', 'STRATEGY', 'FILE', '--feed-latency', '5s'], 'usage', '--feed-latency is 5s'],
    [['backtest', 'STRATEGY', 'FILE', '--ack-latency', 'soon'], 'usage', '--ack-latency is soon'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', ''], 'usage', '--limits holds nothing'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'loss'], 'usage', '--limits holds loss'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'loss=0'], 'usage', 'loss=AMOUNT'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'rate=1.5'], 'usage', 'holds rate=1.5'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'position=-1'], 'usage', 'holds position=-1'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'loss=5,loss=6'], 'usage', 'holds loss=6'],
    [['backtest', 'STRATEGY', 'FILE', '--limits', 'size=5'], 'usage', 'position=SHARES'],
    [['backtest', 'EMPTY', 'FILE'], 'usage', 'exports no strategy'],
    [
      ['backtest', 'STRATEGY', 'FILE', '--from', '2020-01-01', '--to', '2020-01-02'],
      'empty',
      'no recorded book',
    ],
  ] as const)('refuses %j', async (argv, exit, text) => {
    const file = strategyFile('fine', '{}')
    const empty = join(folder, 'empty.ts')
    writeFileSync(empty, 'export const other = 1\n')
    const places: Readonly<Record<string, string>> = {
      STRATEGY: file,
      EMPTY: empty,
      FILE: files[0]!,
    }
    const run = await priorbook(...argv.map((word) => places[word] ?? word))
    expect(run.err).toContain(text)
    expect(run.status).toBe(EXIT_CODES[exit].status)
  })
})
