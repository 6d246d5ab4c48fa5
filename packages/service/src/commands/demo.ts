import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  printBytes as size,
  printCount as count,
  printLines,
  ProgressBar,
} from '@priorbook/sdk/command-line'
import { printMicros, printScaled, VENUES, type Micros } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import { toDataFolder } from '../lib/data-folder.ts'
import { importRecordings } from '../derive/import.ts'
import { findRecordings } from '../derive/merge-recordings.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import type { InstrumentFacts } from '../store/store.ts'
import { defineCommand } from './command.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const LEVELS = 8
const BAR = 24

/** `priorbook-server demo`: the sample that ships with Priorbook, imported and shown. */
export const demoCommand = defineCommand({
  name: 'demo',
  args: '',
  mostArgs: 0,
  about:
    'Imports the invented sample market data that comes with Priorbook and shows what it holds.',
  options: {},
  examples: ['priorbook-server demo'],
  async run({ io, isDataGiven, data: given }) {
    const data = isDataGiven ? given : toDataFolder('data/demo')
    const store = openEmbeddedStore({ file: data.tape })
    const bar = new ProgressBar(io, 'import')
    try {
      const { files } = findRecordings([SAMPLE])
      await importRecordings({
        store,
        journalDir: data.journal,
        files,
        onProgress: (done, total, lines) => bar.update(done, total, `${count(lines)} lines`),
      })
      bar.end()
      await printLines(io, await describe(store, data.tape))
      await io.write(`\nYours next:
  npx priorbook-server import venueb --data data FILES…   recorded venue B messages
  npx priorbook-server verify --data ${data.path}            prove every row
  npx priorbook-server rebuild --data ${data.path}           derive it all again from the journal
`)
    } finally {
      bar.end()
      await store.close()
    }
  },
})

async function describe(store: EmbeddedStore, tape: string): Promise<string[]> {
  const all = await store.instruments()
  const rows = all.reduce((sum, { lastSequence }) => sum + lastSequence, 0)
  const bytes = statSync(tape).size
  const lines = [
    `Priorbook demo: invented data, ${count(rows)} full-depth books in ${size(bytes)}`,
    '',
  ]
  for (const { instrument, lastSequence, firstReceived, lastReceived } of all) {
    const gaps = await store.gaps(instrument)
    const span = `${printMicros(firstReceived as Micros).slice(0, 19)} – ${printMicros(lastReceived as Micros).slice(11, 19)}`
    const holes = gaps.map(
      ({ reason, start, end }) =>
        `${reason} ${(((end ?? lastReceived) - start) / 1e6).toFixed(1)} s`,
    )
    const missing = holes.length === 0 ? 'no gap' : holes.join(', ')
    lines.push(`  ${instrument.key}  ${count(lastSequence).padStart(7)} books  ${span}  ${missing}`)
  }
  const densest = all.reduce((a, b) => (b.lastSequence > a.lastSequence ? b : a))
  return [...lines, ...(await describeBook(store, densest))]
}

async function describeBook(store: EmbeddedStore, facts: InstrumentFacts): Promise<string[]> {
  const at = Math.floor((facts.firstReceived + facts.lastReceived) / 2)
  const { run } = await store.asOf({ ...facts.instrument, at })
  if (run === undefined) return []
  const ladder = toLadder(run)
  const { sizeDecimals } = VENUES[facts.instrument.venue]
  const asks = ladder.asks(LEVELS)
  const bids = ladder.bids(LEVELS)
  const most = Math.max(...asks.size, ...bids.size)
  const line = (side: string, price: number, units: number): string => {
    const bar = '█'.repeat(Math.max(1, Math.round((units / most) * BAR)))
    const text = printScaled(units, sizeDecimals).padStart(10)
    return `    ${side}  ${printScaled(price, ladder.decimals).padEnd(5)} ${text}  ${bar}`
  }
  const askLines = Array.from(asks.price, (price, at) => line('ask', price, asks.size[at]!))
  return [
    '',
    `  ${facts.instrument.key} as of ${printMicros(at as Micros)}`,
    '',
    ...askLines.toReversed(),
    `    ${'─'.repeat(BAR)}`,
    ...Array.from(bids.price, (price, at) => line('bid', price, bids.size[at]!)),
  ]
}

function toLadder(run: BookRun): Ladder {
  const ladder = new Ladder()
  loadBase(ladder, run.columns)
  applyRows(ladder, run.columns, 0, run.to)
  return ladder
}
