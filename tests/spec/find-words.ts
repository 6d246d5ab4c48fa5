import type { Body, Row, Words } from '../api/conformance-check.ts'
import type { Reply } from '../api/emulated-api.ts'

type Get = (url: string) => Promise<Reply>

// Statements look at the past of a market, so that it needs rows enough.
const MIN_ROWS = 60
// Frames may still be on their way when a market is resolved.
const QUIET_MS = 5000

/** The names that statements ask about, found over HTTP; undefined while something is not recorded yet. */
export async function findWords(get: Get): Promise<Words | undefined> {
  const list = async (url: string): Promise<readonly Row[]> => ((await get(url)).body as Body).data
  const a = await findBusy(get, await list('/v3/venuea-prediction/markets?limit=200'), aPath)
  // Statements look at its trades too.
  const hasTrades = async (market: Row): Promise<boolean> =>
    (await list(`${bPath(market)}/trades?limit=1`)).length > 0
  const b = await findBusy(get, await list('/v3/venueb/markets?limit=200'), bPath, hasTrades)
  const c = await findBusy(get, await list('/v3/btc/markets?limit=200'), cPath)
  const doneA = await findResolved(list, '/v3/venuea-prediction/markets')
  const doneB = await findResolved(list, '/v3/venueb/markets')
  const sampled = await findSampled(get, await list('/v3/venuea-prediction/markets?limit=200'))
  const found = [a, b, c, doneA, doneB, sampled]
  if (found.includes(undefined)) return undefined
  return {
    a: a!.market.market_id,
    a_rows: String(a!.last.sequence),
    a_last: a!.last.received_time,
    a_middle: a!.last.received_time,
    a_sampled: sampled!.market_id,
    a_done: doneA!.market_id,
    a_winner: doneA!.winning_outcome,
    b: b!.market.market_ticker,
    b_open: (b!.market as unknown as { open_time: string }).open_time,
    b_close: (b!.market as unknown as { close_time: string }).close_time,
    b_done: doneB!.market_ticker,
    series: b!.market.series_ticker,
    c: c!.market.market_id,
    C: cPath(c!.market),
  }
}

const aPath = ({ market_id: id }: Row): string => `/v3/venuea-prediction/${id}`
const bPath = ({ market_ticker: ticker }: Row): string => `/v3/venueb/${ticker}`
const cPath = ({ market_id: id }: Row): string => `/v3/btc/markets/${id}`

/** A market that has ended, was open before the recorder knew it, and has enough rows, with its last one. */
async function findBusy(
  get: Get,
  markets: readonly Row[],
  path: (market: Row) => string,
  isWanted: (market: Row) => Promise<boolean> = async () => true,
) {
  for (const market of markets) {
    if (market.status !== 'resolved' || !(await isWanted(market))) continue
    const { body } = await get(`${path(market)}/snapshots?limit=${MIN_ROWS}`)
    const { data, meta } = body as Body & { readonly meta: { readonly gaps: readonly Row[] } }
    const isLate = meta.gaps.some(({ reason }) => /before_capture|late_discovery/.test(reason))
    if (!isLate || data.length < MIN_ROWS) continue
    const newest = await get(`${path(market)}/snapshots?limit=1&order=desc`)
    const last = (newest.body as Body).data[0]!
    if (Date.now() - Date.parse(last.received_time) < QUIET_MS) continue
    return { market, last }
  }
  return undefined
}

async function findResolved(
  list: (url: string) => Promise<readonly Row[]>,
  url: string,
): Promise<Row | undefined> {
  const rows = await list(`${url}?status=resolved&limit=200`)
  return rows.find(({ winning_outcome: outcome }) => typeof outcome === 'string')
}

/** A market of which all three metrics were seen. */
async function findSampled(get: Get, markets: readonly Row[]): Promise<Row | undefined> {
  for (const market of markets) {
    const counts = await Promise.all(
      ['chance', 'price', 'last_trade'].map(async (metric) => {
        const { body } = await get(`${aPath(market)}/timeseries?metric=${metric}&limit=1`)
        return (body as Body).data.length
      }),
    )
    if (counts.every((count) => count > 0)) return market
  }
  return undefined
}
