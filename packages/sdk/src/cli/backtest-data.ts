import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { findRollingMarkets, type RollingScope } from '../backtest/index.ts'
import {
  printCount,
  ProgressBar,
  textOption,
  textsOption,
  UsageError,
} from '../command-line/index.ts'
import type { BacktestJob, DataFile } from './backtest-job.ts'
import type { CliContext } from './command.ts'
import { CliError } from './errors.ts'
import { cacheTapes } from './tape-cache.ts'

/** Options that name all markets of a range. */
export const ROLLING_OPTIONS = {
  series: textOption('TICKER', 'All markets of a series in the range, such as KXBTC15M.'),
  contract: textOption('NAME', 'All markets of a contract over all venues, such as BTC-15m.'),
  cache: textOption('FOLDER', 'Where downloads are kept; ~/.cache/priorbook/tapes by default.'),
}

/** The option that adds series of one's own. */
export const DATA_OPTION = textsOption(
  'NAME=FILE[:COLUMN]',
  'A series of your own (.csv, .ndjson, .parquet) for onData; COLUMN has the received time.',
)

/** Reads the series of one's own. */
export function readDataFiles(given: readonly string[]): DataFile[] {
  return given.map((text) => {
    const [, name, place] = /^([\w.-]+)=(.+)$/.exec(text) ?? []
    if (name === undefined || place === undefined) {
      throw new UsageError(`--data is ${text}`, 'It is NAME=FILE or NAME=FILE:COLUMN.')
    }
    const [, path = place, column] = /^(.+\.\w+):([^:/\\]+)$/.exec(place) ?? []
    if (!existsSync(path)) throw new CliError('not_found', `there is no file ${path}`)
    return { name, path: resolve(path), column }
  })
}

type Context = CliContext<typeof ROLLING_OPTIONS>

/** Reads which markets come and go during the run; undefined where markets or files are named. */
export function rollingScopeOf({ options }: Pick<Context, 'options'>): RollingScope | undefined {
  const { series, contract } = options
  if (series !== undefined && contract !== undefined) {
    throw new UsageError('either --series or --contract, not both')
  }
  if (series !== undefined) return { series }
  return contract === undefined ? undefined : { contract }
}

/** Finds the markets of a rolling run and downloads what is not kept yet; gives the job over those files. */
export async function cacheRollingJob(
  context: Context,
  job: BacktestJob,
  scope: RollingScope,
): Promise<BacktestJob> {
  const { from, to } = job
  if (from === undefined || to === undefined) {
    throw new UsageError('a series or contract needs a range', 'Add --from and --to.')
  }
  const { signal } = context
  const markets = await findRollingMarkets(context.client(), scope, { from, to }, signal)
  const name = 'series' in scope ? `series ${scope.series}` : `contract ${scope.contract}`
  if (markets.length === 0) throw new CliError('empty', `no market of the ${name} in the range`)
  return cacheJob(context, { ...job, markets })
}

/** Downloads what a job over the service needs; gives the job over those files. */
export async function cacheJob(context: Context, job: BacktestJob): Promise<BacktestJob> {
  const { io, isQuiet, options, signal } = context
  const { markets, references, from, to } = job
  if (from === undefined || to === undefined) {
    throw new UsageError('several workers need a range', 'Add --from and --to.')
  }
  const folder = options.cache ?? defaultFolder(io.env)
  const bar = isQuiet ? undefined : new ProgressBar(io, 'download')
  const { files, revisions } = await cacheTapes(
    context.client(),
    folder,
    markets,
    references,
    { from, to },
    signal,
    {
      onProgress(done, total, bytes) {
        bar?.update(done, total, `${printCount(markets.length)} markets, ${megabytes(bytes)}`)
      },
      onWait(why) {
        if (!isQuiet) io.note(`waiting: ${why}`)
      },
    },
  ).finally(() => bar?.end())
  if (files.length === 0) throw new CliError('empty', 'nothing was recorded in the range')
  return { ...job, files, revisions, client: undefined }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function defaultFolder(env: Readonly<Record<string, string | undefined>>): string {
  const home = env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(home, 'priorbook', 'tapes')
}
