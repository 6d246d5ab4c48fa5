import { benchApi } from './api.ts'
import { benchBacktest } from './backtest.ts'
import { benchBreadth } from './breadth.ts'
import { benchCapture } from './capture.ts'
import { benchCatalogue } from './catalogue.ts'
import { benchCluster } from './cluster.ts'
import { benchContracts } from './contracts.ts'
import { benchGrowth } from './growth.ts'
import { benchLive } from './live.ts'
import { benchPanels } from './panels.ts'
import { benchPython } from './python.ts'
import { benchReplay } from './replay.ts'
import { benchScale } from './scale.ts'
import { benchTape } from './tape.ts'

const BENCHES: Readonly<Record<string, () => Promise<Record<string, unknown>>>> = {
  tape: benchTape,
  growth: benchGrowth,
  capture: benchCapture,
  breadth: benchBreadth,
  catalogue: benchCatalogue,
  cluster: benchCluster,
  api: benchApi,
  contracts: benchContracts,
  backtest: benchBacktest,
  live: benchLive,
  panels: benchPanels,
  python: benchPython,
  replay: benchReplay,
  scale: benchScale,
}

/** `npm run bench -- NAME`: prints a table and, as its last line, one JSON object. */
const name = process.argv[2] ?? ''
const bench = BENCHES[name]
if (bench === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join(' | ')}`)
  process.exitCode = 2
} else {
  const result = await bench()
  for (const [key, value] of Object.entries(result)) {
    console.log(`${key.padEnd(32)} ${typeof value === 'number' ? value : JSON.stringify(value)}`)
  }
  console.log(JSON.stringify(result))
}
