import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Body, Row, Words } from '../api/conformance-check.ts'
import type { Reply } from '../api/emulated-api.ts'

/** Gives what is wrong; nothing where the statement holds. */
export type ExtraCheck = () => Promise<string[]>

type Options = {
  readonly url: string
  readonly key: string
  readonly get: (url: string) => Promise<Reply>
  /** Stops the service in order and starts it again on the same data. */
  readonly restart: () => Promise<void>
  readonly words: Words
}

/** Checks of statements that need more than one request, by the place of the statement. */
export function createExtraChecks(options: Options): Record<string, ExtraCheck> {
  const { url, key, get, words } = options
  const dataOf = async (path: string): Promise<readonly Row[]> =>
    ((await get(path)).body as Body).data
  return {
    'Introduction: three venues': async () => {
      const venues = new Set(
        (await dataOf('/v3/coverage')).map((row) => (row as unknown as { venue: string }).venue),
      )
      return venues.size === 3 ? [] : [`coverage names ${[...venues].join(', ')}`]
    },
    'Service 10: a live feed exists': () => hearsBook(url, key, 'venuec'),
    'Endpoints 4: routes beside those of the document': async () => {
      const { body } = await get('/v3/openapi.json')
      const paths = Object.keys((body as { paths: object }).paths)
      return paths.includes('/v3/markets') ? [] : ['/v3/markets is not documented']
    },
    'A routes, alias: the same bytes on both base paths': async () => {
      const wrong: string[] = []
      const end = `end_time=${words['a_last']}`
      for (const path of [`${words['a_done']}`, `${words['a']}/snapshots?limit=50&${end}`]) {
        const [left, right] = await Promise.all([
          get(`/v3/venuea-prediction/${path}`),
          get(`/v3/venuea-alias/${path}`),
        ])
        if (Buffer.compare(left.bytes, right.bytes) !== 0) wrong.push(`${path} differs`)
      }
      return wrong
    },
    'Events 2: live books of venues B and C': async () => [
      ...(await hearsBook(url, key, 'venueb')),
      ...(await hearsBook(url, key, 'venuec')),
    ],
    'Limits: the year is stated for two floors only': async () => {
      const floors = (await dataOf('/v3/coverage?venue=venuea')) as unknown as readonly {
        readonly venue_floor: string | null
        readonly year_inferred: boolean
      }[]
      const stated = floors.filter(
        ({ year_inferred: isInferred, venue_floor: floor }) => floor !== null && !isInferred,
      )
      const days = new Set(stated.map(({ venue_floor: floor }) => floor!.slice(5, 10)))
      return [...days].sort().join() === '05-05,06-29' ? [] : [`stated: ${[...days].join()}`]
    },
    'Service 9': async () => {
      const trades = await dataOf(`/v3/venueb/${words['b']}/trades?limit=50`)
      if (trades.length === 0) return ['no trades of venue B']
      return trades.every(({ native }) => typeof native.taker_side === 'string')
        ? []
        : ['a trade of venue B without the taker side that its message named']
    },
    'Versioning 3': async () => {
      const found = await dataOf('/v3/venueb/markets?asset=btc&limit=500')
      const isOne = found.every(({ asset }) => asset === 'BTC')
      const hasRounds = found.some(({ window }) => window === '15m')
      return isOne && hasRounds ? [] : ['asset=btc does not find the rounds of venue B']
    },
    'Errors 3': () => judgeOutage(options),
    'Versioning 2: cursors of one base path hold on the other': async () => {
      const page = `${words['a']}/snapshots?limit=1`
      const { body } = await get(`/v3/venuea-prediction/${page}`)
      const cursor = (body as Body).pagination.next_cursor
      const { status } = await get(`/v3/venuea-alias/${page}&cursor=${cursor}`)
      return status === 200 ? [] : [`status ${status}`]
    },
  }
}

const OUTAGE = 'recorder_down'
const OUTAGE_MARKETS = 20

// After a restart, books and series of the markets that were open must name the outage as a gap, and in
// the same place in every format. Those that close last are still open afterwards.
async function judgeOutage({ get, restart }: Options): Promise<string[]> {
  const base = '/v3/venuea-prediction'
  const last = `status=open&sort=close_time&order=desc&limit=${OUTAGE_MARKETS}`
  const { body } = await get(`/v3/markets?venue=venuea&${last}`)
  const open = (body as Body).data.map(({ market_id: id }) => id)
  await restart()
  await pause(AFTER_OUTAGE_MS)
  const wrong: string[] = []
  let judged = 0
  for (const id of open) {
    const gaps = async (path: string): Promise<readonly Row[]> =>
      ((await get(`${base}/${id}/${path}`)).body as Gapped).meta.gaps
    const isOutage = ({ reason }: Row): boolean => reason === OUTAGE
    // The newest rows first: the outage was a moment ago.
    const books = 'snapshots?limit=1000&order=desc'
    if (!(await gaps(books)).some(isOutage)) continue
    judged++
    const series = 'timeseries?metric=chance&limit=1000&order=desc'
    if (!(await gaps(series)).some(isOutage)) wrong.push(`${id}: the series has no gap`)
    for (const path of [books, series]) {
      for (const format of ['ndjson', 'csv']) {
        const { bytes, headers } = await get(`${base}/${id}/${path}&format=${format}`)
        // CSV names the file of its gaps in a header.
        const beside = /<([^>]*)>; rel="gaps"/.exec(headers['link'] ?? '')?.[1]
        const said = format === 'csv' ? (await get(beside ?? '/v3/health')).bytes : bytes
        const isThere = Buffer.from(said).includes(OUTAGE)
        if (!isThere) wrong.push(`${id}/${path}: ${format} does not name the outage`)
      }
    }
  }
  return judged === 0 ? ['no open market saw the outage'] : wrong
}

type Gapped = { readonly meta: { readonly gaps: readonly Row[] } }

const AFTER_OUTAGE_MS = 4000
const PATIENCE_MS = 20_000

// Subscribes to a whole venue and waits for a book with levels.
function hearsBook(url: string, key: string, venue: string): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v3/stream`, {
      headers: { Authorization: `Bearer ${key}` },
    })
    const end = (wrong: string[]): void => {
      clearTimeout(timer)
      socket.close()
      resolve(wrong)
    }
    const timer = setTimeout(() => end([`no book of ${venue} within 20 s`]), PATIENCE_MS)
    socket.on('error', (error) => end([String(error)]))
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { readonly type: string; readonly row?: Row }
      const { type, row } = message
      if (type === 'welcome') socket.send(JSON.stringify({ op: 'subscribe', id: '1', venue }))
      if (type === 'error') end([JSON.stringify(message)])
      if (type === 'update' && row !== undefined && row.bids.price.length > 0) end([])
    })
  })
}
