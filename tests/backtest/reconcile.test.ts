import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseRunLog, type LogEnd, type LogLine } from '../../packages/sdk/src/backtest/index.ts'
import { roundOfB } from '../../packages/sdk/src/domain/contracts/records.testing.ts'
import {
  fromMillis,
  parsePrice,
  parseSize,
  type Micros,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler } from '../../packages/sdk/src/tape/index.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { runCommand, type Ran } from '../sdk/run-command.ts'

const MARKETS = ['KXBTC15M-LIVE-A', 'KXBTC15M-LIVE-B'] as const
const now = (): Micros => fromMillis(Date.now())

/** A service that records two markets while it serves them. */
async function openRecording() {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-reconcile-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const access = openAccess(folder)
  const assemblers = MARKETS.map(
    (market) => new BookAssembler({ venue: 'venueb', market, key: market }),
  )
  const common = { venue: 'venueb', origin: 'emulator', recorder: 'r1', normalizer: 1 } as const
  let position = 1
  const begun = Date.now()
  const records = MARKETS.map((marketId) =>
    roundOfB({
      marketId,
      openTime: fromMillis(begun - 60_000),
      closeTime: fromMillis(begun + 3_600_000),
    }),
  )
  await store.append({
    ...common,
    position: position++,
    revisions: records.map((record, index) => ({
      kind: 'market',
      record,
      received: fromMillis(begun - 1000),
      journal: index + 1,
    })),
    facts: { 'capture_started:venueb': fromMillis(begun - 120_000) },
  })
  let step = 0
  const level = (cents: number) => ({
    price: parsePrice((cents / 100).toFixed(2), 4),
    size: parseSize(String(10 + (step % 7)), 2),
  })
  /** Records a book of each market; the second one a little earlier, as commits do not sort by time. */
  const record = async (): Promise<void> => {
    step++
    const at = now()
    const observations = assemblers.map((assembler, index) => {
      const ask = 40 + ((step * 3 + index * 11) % 20)
      const row = assembler.take({
        kind: 'snapshot',
        instrument: assembler.instrument,
        bids: [level(ask - 2)],
        asks: [level(ask)],
        received: (at - index * 1500) as Micros,
        journal: step * 10 + index,
      })
      if (!('received' in row)) throw new Error(row.detail)
      return row
    })
    await store.append({ ...common, position: 1 + position++, observations })
  }
  const server = createApiServer({ store, access })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 't' })
  onTestFinished(async () => {
    await server.close(500)
    access.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, record, env: { PRIORBOOK_URL: url, PRIORBOOK_KEY: key } }
}

// Takes with every fifth book of a market and rests with every seventh: decisions depend on both markets.
const STRATEGY = `export const strategy = () => {
  let books = 0
  return {
    onBook(book, { buy, cancelAll }) {
      books++
      const market = book.market.id
      if (books % 5 === 0) buy({ market, size: 3 })
      if (books % 7 === 0) { cancelAll(market); buy({ market, price: book.bestBid, size: 2 }) }
    },
  }
}\n`

describe('a paper run', { timeout: 180_000 }, () => {
  it('is equal to the replay of what was recorded, and every difference that is made is named', async () => {
    const { folder, record, env } = await openRecording()
    const file = join(folder, 'strategy.ts')
    const log = join(folder, 'paper.ndjson')
    writeFileSync(file, STRATEGY)
    await record()
    const names = MARKETS.map((market) => `venueb:${market}`).join()
    const assume = ['--assume', 'venueb-maker=none,venueb-tick=0.01']
    const running = runCommand(
      ['paper', file, '--markets', names, '--log', log, '--seconds', '10', ...assume],
      env,
    )
    let ran: Ran | undefined
    while (ran === undefined) {
      await record()
      ran = await Promise.race([running, pause(40, undefined)])
    }
    if (ran.status !== 0) throw new Error(ran.err)
    const { lines, end } = parseRunLog(readFileSync(log, 'utf8'))
    const fills = lines.filter(({ type }) => type === 'fill')
    expect(fills.length).toBeGreaterThan(5)
    expect(end!.delivery!.rows).toBeGreaterThan(20)
    const equal = await runCommand(['reconcile', log], env)
    expect(`${equal.out}${equal.err}`).toContain('live and replay are equal')
    expect(equal.status).toBe(0)
    expect(equal.out).toMatch(/^rows came [\d.]+ ms after they were recorded/m)

    // A backtest of the same hours writes a log of the same lines.
    const again = join(folder, 'backtest.ndjson')
    const words = ['--markets', names, '--queue', 'pessimistic', '--log', again, ...assume, '-q']
    const tested = await runCommand(['backtest', file, ...words], env)
    expect(tested.status).toBe(0)
    const other = parseRunLog(readFileSync(again, 'utf8'))
    expect(other.head.mode).toBe('backtest')
    expect(other.lines.map(({ type }) => type)).toContain('fill')
    expect((await runCommand(['reconcile', again, again], env)).status).toBe(0)
    expect((await runCommand(['reconcile', again], env)).err).toContain('that of a backtest')

    // Each change of the log is a difference between live and replay, and is named.
    const changed = async (change: (rows: (LogLine | LogEnd)[]) => (LogLine | LogEnd)[]) => {
      const [head, ...rest] = readFileSync(log, 'utf8').trim().split('\n')
      const rows = change(rest.map((line) => JSON.parse(line) as LogLine | LogEnd))
      const path = join(folder, 'changed.ndjson')
      writeFileSync(path, `${[head, ...rows.map((row) => JSON.stringify(row))].join('\n')}\n`)
      const { status, out } = await runCommand(['reconcile', path, '--json'], env)
      const kinds = out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { kind: string }).kind)
      return { status, kinds }
    }
    const isFill = (row: LogLine | LogEnd) => row.type === 'fill'
    const wrongPrice = await changed((rows) => {
      const index = rows.findIndex(isFill)
      return rows.map((row, place) =>
        place === index && row.type === 'fill'
          ? { ...row, fill: { ...row.fill, price: row.fill.price + 100 } }
          : row,
      )
    })
    expect(wrongPrice).toEqual({ status: 6, kinds: ['fill_price'] })
    const missing = await changed((rows) =>
      rows.filter((_, place) => place !== rows.findIndex(isFill)),
    )
    expect(missing).toEqual({ status: 6, kinds: ['fill_missing'] })
    const late = await changed((rows) =>
      rows.map((row) =>
        row.type === 'fill' && row.fill.id === 1
          ? { ...row, fill: { ...row.fill, at: row.fill.at + 7 } }
          : row,
      ),
    )
    expect(late).toEqual({ status: 6, kinds: ['fill_time'] })
    const unsent = await changed((rows) =>
      rows.filter(
        (row) =>
          !(row.type === 'order' && row.order.id === 1) &&
          !(row.type === 'fill' && row.fill.order === 1),
      ),
    )
    expect(unsent).toEqual({ status: 6, kinds: ['order_missing'] })
    // Without its end a log does not say up to when it goes.
    writeFileSync(
      join(folder, 'cut.ndjson'),
      readFileSync(log, 'utf8').split('\n').slice(0, 3).join('\n'),
    )
    expect((await runCommand(['reconcile', join(folder, 'cut.ndjson')], env)).err).toContain(
      'has no end',
    )
  })
})

describe('a paper run that fails', { timeout: 180_000 }, () => {
  it('ends there with 1, and neither at the first message nor after a month', async () => {
    const { folder, record, env } = await openRecording()
    const file = join(folder, 'failing.ts')
    const log = join(folder, 'failing.ndjson')
    // Far beyond the first message, and the last that it hears of.
    writeFileSync(
      file,
      `let books = 0
      export const strategy = () => ({
        onBook() { if (++books === 20) throw new Error('no idea after ' + books) },
      })\n`,
    )
    await record()
    const words = ['--markets', `venueb:${MARKETS[0]}`, '--log', log, '--seconds', '2592000']
    const assume = ['--assume', 'venueb-maker=none,venueb-tick=0.01']
    const running = runCommand(['paper', file, ...words, ...assume], env)
    let ran: Ran | undefined
    while (ran === undefined) {
      await record()
      ran = await Promise.race([running, pause(40, undefined)])
    }
    expect(ran.err).toContain('the strategy failed: Error: no idea after 20')
    expect(ran.status).toBe(1)
    expect(parseRunLog(readFileSync(log, 'utf8')).end).toBeDefined()
  })
})
