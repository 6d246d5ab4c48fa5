// Runs the four examples over recorded markets of venue B, for the figures of docs/guide/backtest.md:
// PRIORBOOK_RECORDINGS=FOLDER node examples/run-recorded.ts OUTPUT
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backtest, reportHtml, type BacktestOptions } from '@priorbook/sdk/backtest'
import { writeBacktestFiles } from '../bench/lib/backtest-files.ts'
import { recordedRevisions } from '../bench/lib/recorded-revisions.ts'
import { replayFiles } from '../packages/sdk/src/replay/replay-node.ts'
import { strategy as fadeTheJump } from './fade-the-jump.ts'
import { strategy as lateFavourite } from './late-favourite.ts'
import { strategy as leanOnImbalance } from './lean-on-imbalance.ts'
import { strategy as quoteBothSides } from './quote-both-sides.ts'

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
const output = process.argv[2] ?? ''
if (recordings === '' || output === '') {
  console.error('usage: PRIORBOOK_RECORDINGS=FOLDER node examples/run-recorded.ts OUTPUT')
  process.exit(2)
}
mkdirSync(output, { recursive: true })
const { files } = writeBacktestFiles(recordings, join(output, 'tape'), 1)
const revisions = recordedRevisions(recordings)

async function run(
  name: string,
  options: Pick<BacktestOptions, 'strategy'> & Partial<BacktestOptions>,
) {
  const { report, reports } = await backtest({ events: replayFiles(files), revisions, ...options })
  writeFileSync(join(output, `${name}.html`), reportHtml(report))
  writeFileSync(join(output, `${name}.json`), JSON.stringify(report, undefined, 1))
  const { headline, bracket, confidence, fills } = report
  console.log(`${name}: ${JSON.stringify({ headline, bracket, confidence, fills }, undefined, 1)}`)
  for (const { slippage, markouts, orders, run: made } of reports) {
    console.log(`${made.queue}: ${JSON.stringify({ slippage, markouts, orders })}`)
  }
}

await run('late-favourite', { strategy: lateFavourite })
await run('fade-the-jump', { strategy: fadeTheJump })
await run('lean-on-imbalance', { strategy: leanOnImbalance })
await run('quote-both-sides', { strategy: quoteBothSides })
