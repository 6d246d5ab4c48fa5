import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Revision, RollingMarket, RollingRange } from '../backtest/index.ts'
import type { BulkParams, PriorbookClient } from '../client/index.ts'
import { printMicros, VENUE_IDS, VENUES, type Micros } from '../domain/index.ts'
import { fromMarketJson } from '../wire/index.ts'
import { downloadFile } from './download-file.ts'
import { CliError } from './errors.ts'

/** The files and records of a run over the service. */
export type CachedTapes = {
  /** In the order of the markets, whatever the order of the downloads. */
  readonly files: readonly string[]
  readonly revisions: readonly Revision[]
}

/** Reports of the downloads of a run. */
export interface CacheEvents {
  /** How far they are. */
  onProgress(done: number, total: number, bytes: number): void
  /** Another run downloads a file that this one needs too. */
  onWait(why: string): void
}

// Downloads at a time: a request waits for the service most of the time.
const AT_ONCE = 4
const RETRIES = 5

/**
 * Downloads the books, trades and records of markets and the reference prices of assets into a folder. A
 * file of a final range that is already there is not downloaded again; one that another run downloads at the moment is
 * waited for.
 */
export async function cacheTapes(
  client: PriorbookClient,
  folder: string,
  markets: readonly RollingMarket[],
  assets: readonly string[],
  range: RollingRange,
  signal: AbortSignal,
  events: CacheEvents,
): Promise<CachedTapes> {
  await mkdir(folder, { recursive: true })
  const times = {
    start_time: printMicros(range.from as Micros),
    end_time: printMicros(range.to as Micros),
  }
  const scopes = [...marketScopes(markets), ...referenceScopes(assets)]
  const total = scopes.length + markets.length
  let done = 0
  let bytes = 0
  const advance = (more: number): void => events.onProgress(++done, total, (bytes += more))
  const files = await inTurn(scopes, async (scope) => {
    const file = await cacheFile(client, folder, { ...scope, ...times }, signal, (why) =>
      events.onWait(why),
    )
    advance(file?.bytes ?? 0)
    return file?.path
  })
  const revisions = await inTurn(markets, async (market) => {
    const own = await readRevisions(client, market, signal)
    advance(0)
    return own
  })
  return { files: files.filter((path) => path !== undefined), revisions: revisions.flat() }
}

/** All records of a market by the time they became known. */
export async function readRevisions(
  client: PriorbookClient,
  market: RollingMarket,
  signal?: AbortSignal,
): Promise<Revision[]> {
  const revisions: Revision[] = []
  for await (const row of client.market(market).revisions({}, { signal })) {
    const { record, knownAt } = fromMarketJson(row)
    revisions.push({ at: knownAt, record })
  }
  return revisions
}

function marketScopes(markets: readonly RollingMarket[]): BulkParams[] {
  return markets.flatMap((market) =>
    (VENUES[market.venue].hasTrades ? (['books', 'trades'] as const) : (['books'] as const)).map(
      (dataset) => ({ ...market, dataset }),
    ),
  )
}

function referenceScopes(assets: readonly string[]): BulkParams[] {
  const venues = VENUE_IDS.filter((venue) => VENUES[venue].references.length > 0)
  return venues.flatMap((venue) =>
    assets.map((asset) => ({ venue, dataset: 'reference', asset }) as const),
  )
}

// Undefined where nothing was recorded.
async function cacheFile(
  client: PriorbookClient,
  folder: string,
  params: BulkParams,
  signal: AbortSignal,
  onWait: (why: string) => void,
): Promise<{ readonly path: string; readonly bytes: number } | undefined> {
  const path = join(folder, nameOf(client, params))
  const order = {
    params,
    format: 'tape',
    path: () => path,
    existing: 'refresh',
    retries: RETRIES,
    signal,
    onWait,
  } as const
  try {
    const { file } = await downloadFile(client, order, SILENT)
    return { path, bytes: file.bytes }
  } catch (error) {
    if (error instanceof CliError && error.exit === 'empty') return undefined
    throw error
  }
}

const SILENT = {
  onManifest: () => undefined,
  onProgress: () => undefined,
  onBreak: () => undefined,
  onNotices: () => undefined,
}

function nameOf({ url, isDemo }: PriorbookClient, params: BulkParams): string {
  const { venue, market_id: id = '', asset = '', dataset = 'books' } = params
  const text = JSON.stringify([url, isDemo, params])
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const words = `${venue}-${id}${asset}-${dataset}`.replaceAll(/[^\w.-]/g, '_')
  return `${words.slice(0, 120)}-${hash}.pbx`
}

/** Does some work at a time, and gives the results in the order of the list. */
async function inTurn<Item, Result>(
  list: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = Array.from({ length: list.length })
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < list.length) {
      const index = next++
      results[index] = await work(list[index]!)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}
