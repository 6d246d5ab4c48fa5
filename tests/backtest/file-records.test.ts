import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { backtest, type BacktestResult } from '../../packages/sdk/src/backtest/index.ts'
import { recordB, sec } from '../../packages/sdk/src/backtest/tape.testing.ts'
import type { Micros } from '../../packages/sdk/src/domain/index.ts'
import { bookChunk, ContainerMaker } from '../../packages/sdk/src/replay/container.testing.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'

// Bids 10 at 0.48 and asks 10 at 0.50, every ten seconds for a minute. The close moves from 30 to 300 at 20.
const rows = [10, 20, 40, 50, 60].map((at, index) => ({
  received: sec(at),
  keys: index === 0 ? [96, 101] : [101],
  sizes: index === 0 ? [1000, 1000] : [1000 + index],
  flags: index === 0 ? 65 : 0,
}))
const first = recordB('KX-1-A', { closeTime: sec(30) as Micros })
const moved = recordB('KX-1-A', { closeTime: sec(300) as Micros })

async function run(records: 'all' | undefined): Promise<BacktestResult> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-file-records-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const made = new ContainerMaker(sec(0), sec(100), records)
  if (records === 'all') made.market(first, sec(1))
  made.market(moved, sec(20)).frame('C', bookChunk('venueb', 'KX-1-A', rows))
  const file = join(folder, 'books.pbx')
  writeFileSync(file, made.finish())
  return backtest({
    events: replayFiles([file]),
    records: 'newest',
    queue: 'pessimistic',
    strategy: () => ({
      onBook: ({ market }, { log, secondsToClose }) => log(String(secondsToClose(market.id))),
    }),
  })
}

const logsOf = ({ report }: BacktestResult): number[] =>
  report.logs.map((line) => Number(line.split(' ')[1]))

it('a close time that moved is not known before, where the file has all records', async () => {
  expect(logsOf(await run('all'))).toStrictEqual([20, 280, 260, 250, 240])
})

it('a file of an older version has its newest record from the start', async () => {
  expect(logsOf(await run(undefined))).toStrictEqual([290, 280, 260, 250, 240])
})
