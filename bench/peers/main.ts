import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { planSeed } from '../lib/plan.ts'
import { prepareTape } from '../lib/tape.ts'
import { measurePeerApi } from './api.ts'
import { comparisonTable } from './comparison-table.ts'
import { installPython } from './install-python.ts'
import { installPeers } from './install.ts'
import type { Result } from './comparison-table.ts'
import type { PeerJob } from './job.ts'

/** The engines of the comparison; each has a file of that name that runs as its own process. */
const peerNames = ['clickhouse', 'duckdb'] as const

const OUR_BENCHMARK = fileURLToPath(new URL('../main.ts', import.meta.url))

/**
 * `npm run bench:peers -- tape | api | backtest`: our own benchmark and the peers on the same data and the same
 * plan of reads, one process after another. The last line of the output is one JSON object.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      /** Names of the engines to run: ours, clickhouse, duckdb. */
      only: { type: 'string', multiple: true, default: ['ours', ...peerNames] },
      work: { type: 'string', default: join(tmpdir(), 'priorbook-bench-peers') },
      'read-budget-ms': { type: 'string', default: '20000' },
      'append-budget-ms': { type: 'string', default: '10000' },
    },
  })
  const [bench] = positionals
  if (bench !== 'tape' && bench !== 'api' && bench !== 'backtest') {
    throw new Error('Usage: npm run bench:peers -- tape | api | backtest [--only NAME]')
  }
  if (bench === 'backtest') {
    await compareBacktests()
    return
  }
  const work = values.work
  mkdirSync(work, { recursive: true })
  const tape = prepareTape(work, planSeed)

  let ours: Result = {}
  if (values.only.includes('ours')) {
    if (existsSync(OUR_BENCHMARK)) {
      ours = await runToJson([OUR_BENCHMARK, bench], { PRIORBOOK_RECORDINGS: tape.folder })
    } else {
      console.error('There is no bench/main.ts yet: only the peers are measured')
    }
  }

  const peers: Record<string, Result> = {}
  const wanted = peerNames.filter((name) => values.only.includes(name))
  if (wanted.length > 0) installPeers()
  for (const name of wanted) {
    const job: PeerJob = {
      recordings: tape.folder,
      seed: planSeed,
      work: join(work, name),
      readBudgetMs: Number(values['read-budget-ms']),
      appendBudgetMs: Number(values['append-budget-ms']),
    }
    const jobFile = join(work, `${name}.json`)
    writeFileSync(jobFile, JSON.stringify(job))
    const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
    peers[name] =
      bench === 'tape'
        ? await runToJson([script, jobFile], {})
        : await measurePeerApi(script, jobFile, job)
    rmSync(job.work, { recursive: true, force: true })
  }

  console.log(`Data: ${tape.source}`)
  if (bench === 'tape') console.log(comparisonTable(ours, peers))
  console.log(JSON.stringify({ ...ours, peers }))
}

/** Our benchmark runs hftbacktest itself where it is installed; without it, it tells why there is no figure. */
async function compareBacktests(): Promise<void> {
  try {
    installPython()
  } catch (error) {
    console.error(`hftbacktest is left out: ${String(error)}`)
  }
  console.log(JSON.stringify(await runToJson([OUR_BENCHMARK, 'backtest'], {})))
}

/** Runs a script of this repository and reads the last line it prints as a JSON object. */
async function runToJson(
  args: readonly string[],
  extra: Readonly<Record<string, string>>,
): Promise<Result> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...extra },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    output += chunk
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`${args.join(' ')} ended with code ${code}`)
  const lines = output.trimEnd().split('\n')
  for (const line of lines.slice(0, -1)) console.log(line)
  return JSON.parse(lines.at(-1) ?? '') as Result
}

await main()
