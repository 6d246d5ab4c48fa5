import type { Revision, RunOptions, Strategy, StrategyFactory } from '../backtest/index.ts'
import { dataFile } from '../backtest/feeds/data-file-node.ts'
import { createClient } from '../client/index.ts'
import { PriorbookError, printMicros, VENUE_IDS, VENUES, type Micros } from '../domain/index.ts'
import { downloadSource, replay, type Replay, type ReplaySource } from '../replay/index.ts'
import { createReplayPlatform, replayFiles } from '../replay/replay-node.ts'
import type { BacktestJob } from './backtest-job.ts'
import { latencyOf } from './latency-options.ts'
import type { MarketName } from './options.ts'
import { offerSdk } from './strategy-imports.ts'
import { readRevisions } from './tape-cache.ts'

/** The options of the runs of a job. */
export function runOptionsOfJob(
  job: BacktestJob,
  strategy: Strategy | StrategyFactory,
  revisions: readonly Revision[] | undefined,
): Omit<RunOptions, 'events'> {
  const { from, to } = job
  return {
    strategy,
    ...(job.queue === undefined ? {} : { queue: job.queue }),
    cash: job.cash,
    seed: job.seed,
    latency: latencyOf(job),
    ...(job.limits === undefined ? {} : { limits: job.limits }),
    gapPolicy: job.gapPolicy,
    data: job.data.map(({ name, path, column }) => ({
      name,
      rows: { [Symbol.asyncIterator]: () => dataFile(path, column) },
    })),
    assume: job.assume,
    sets: job.sets,
    ...(revisions === undefined ? { records: 'newest' } : { revisions }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

type JobData = Pick<BacktestJob, 'client' | 'files' | 'markets' | 'references'>

/** The recorded events of a job: from its files, or from the service. */
export function openJob(job: JobData, from: number | undefined, to: number | undefined): Replay {
  const range = {
    ...(from === undefined ? {} : { start: from }),
    ...(to === undefined ? {} : { end: to }),
  }
  if (job.client === undefined) return replayFiles(job.files, range)
  const times = {
    ...(from === undefined ? {} : { start_time: printMicros(from as Micros) }),
    ...(to === undefined ? {} : { end_time: printMicros(to as Micros) }),
  }
  return replay({ sources: downloadsOf(job, times), platform: createReplayPlatform(), ...range })
}

function downloadsOf(
  { client, markets, references }: JobData,
  times: { readonly start_time?: string; readonly end_time?: string },
): ReplaySource[] {
  const caller = createClient(client!)
  const format = 'tape' as const
  const sources = markets.flatMap(({ venue, market_id }) =>
    (VENUES[venue].hasTrades ? (['books', 'trades'] as const) : (['books'] as const)).map(
      (dataset) => downloadSource(caller, { venue, market_id, dataset, format, ...times }),
    ),
  )
  const prices = VENUE_IDS.filter((venue) => VENUES[venue].references.length > 0).flatMap((venue) =>
    references.map((asset) => {
      const scope = { venue, dataset: 'reference', asset, format } as const
      return downloadSource(caller, { ...scope, ...times })
    }),
  )
  return [...sources, ...prices]
}

/** Loads a module, which gives its strategy as `strategy` or as its default. */
export async function loadStrategy(url: string): Promise<Strategy | StrategyFactory> {
  offerSdk()
  const module = (await import(url)) as { readonly strategy?: unknown; readonly default?: unknown }
  const found = module.strategy ?? module.default
  if (typeof found === 'function' || (typeof found === 'object' && found !== null)) return found
  throw new PriorbookError('invalid_argument', `${url} exports no strategy`)
}

/** The records of a job's markets by the time they became known; undefined for plain files. */
export async function revisionsOf(
  job: Pick<BacktestJob, 'client' | 'markets' | 'revisions'>,
): Promise<readonly Revision[] | undefined> {
  const { client, markets } = job
  if (job.revisions !== undefined || client === undefined) return job.revisions
  const caller = createClient(client)
  // Records of one time are applied in this order, however the markets were named.
  const names = markets.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
  const revisions: Revision[] = []
  for (const market of names) revisions.push(...(await readRevisions(caller, market)))
  return revisions
}

function nameOf({ venue, market_id }: MarketName): string {
  return `${venue}:${market_id}`
}
