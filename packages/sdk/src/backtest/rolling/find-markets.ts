import type { PriorbookClient } from '../../client/index.ts'
import {
  parseMicros,
  PriorbookError,
  printMicros,
  windowMicros,
  type Micros,
  type VenueId,
} from '../../domain/index.ts'

/** What a rolling run is about: a series of a venue, or a contract over all venues. */
export type RollingScope = { readonly series: string } | { readonly contract: string }

/** A market of a rolling run. */
export type RollingMarket = { readonly venue: VenueId; readonly market_id: string }

/** The range of a rolling run in microseconds, end exclusive. */
export type RollingRange = { readonly from: number; readonly to: number }

const FAMILY = /^([A-Za-z0-9]{1,16})-(\d{1,3}[mhd])$/
const PAGE = 1000

/**
 * The markets of a series or contract whose life overlaps a range, sorted by name: the order in which the
 * service lists them, and in which they are downloaded later, changes nothing.
 */
export async function findRollingMarkets(
  client: PriorbookClient,
  scope: RollingScope,
  range: RollingRange,
  signal?: AbortSignal,
): Promise<readonly RollingMarket[]> {
  const { from, to } = range
  if (!(from < to)) throw new PriorbookError('invalid_argument', 'the range is empty')
  const found = new Map<string, RollingMarket>()
  const rows =
    'series' in scope
      ? marketsOfSeries(client, scope.series, range, signal)
      : marketsOfContract(client, scope.contract, range, signal)
  for await (const { venue, market_id } of rows) {
    found.set(`${venue}:${market_id}`, { venue, market_id })
  }
  return [...found].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, one]) => one)
}

async function* marketsOfSeries(
  client: PriorbookClient,
  series: string,
  { from, to }: RollingRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<RollingMarket> {
  // The list holds markets that close after its start and open before its end.
  const range = { start_time: timeText(from), end_time: timeText(to) }
  yield* client.markets({ series, ...range, limit: PAGE }, { signal })
}

async function* marketsOfContract(
  client: PriorbookClient,
  contract: string,
  { from, to }: RollingRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<RollingMarket> {
  const [, asset, window] = FAMILY.exec(contract) ?? []
  if (asset === undefined || window === undefined) {
    yield* (await client.contract(contract, {}, { signal })).data.members
    return
  }
  // Contracts are listed by their close, so the last window that overlaps the range closes after it.
  const length = windowMicros(window) ?? 0
  const range = { start_time: timeText(from + 1), end_time: timeText(to + length) }
  const style = { time_format: 'iso', members: 1, limit: PAGE } as const
  for await (const { opens, members } of client.contracts(
    { asset, window, ...range, ...style },
    { signal },
  )) {
    if (opens === null || parseMicros(String(opens)) < to) yield* members
  }
}

function timeText(at: number): string {
  return printMicros(at as Micros)
}
