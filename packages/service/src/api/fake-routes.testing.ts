import { PriorbookError } from '@priorbook/sdk/domain'
import {
  COUNT,
  integerParam,
  listOf,
  NUMBER,
  objectOf,
  required,
  TEXT,
  textParam,
  timeParam,
  wordParam,
  type PageBuffer,
} from '@priorbook/sdk/wire'
import { ROWS_AT, defineRoute, type Route } from './route.ts'

/** Rows in a page, as renderers write them. */
function rowsOf(page: PageBuffer, count: number): PageBuffer {
  const rows = Array.from({ length: count }, (_, index) => `{"n":${index},"price":0.5200}`)
  page.appendText(rows.join(','))
  return page
}

/** Routes with the parts that servers must handle, and nothing behind them. */
export const FAKE_ROUTES: readonly Route[] = [
  defineRoute(
    {
      id: 'fake_rows',
      address: '/v3/venueb/{market_ticker}/rows',
      aliases: ['/v3/venueb-alias/{market_ticker}/rows'],
      tag: 'Fake',
      summary: 'Rows',
      description: 'Rows as bytes, in three formats.',
      path: { market_ticker: required(textParam(40)) },
      query: {
        limit: integerParam(1, 1000),
        order: wordParam(['asc', 'desc']),
        start_time: timeParam(),
        cursor: textParam(4096),
        format: wordParam(['json', 'ndjson', 'csv', 'parquet']),
      },
      formats: ['ndjson', 'csv'],
      data: listOf(objectOf({ n: COUNT, price: NUMBER })),
      paramTexts: {},
    },
    async (request) => {
      const { format, grant, path } = request
      const { limit = 3, cursor, order } = request.query
      grant.requireVenue('venueb')
      const nextCursor = cursor === undefined ? 'next-one' : undefined
      const isFinal = order === 'asc'
      if (format === 'ndjson' || format === 'csv') {
        const body = rowsOf(request.leasePage(), limit)
        return { kind: 'text', contentType: 'application/x-ndjson', body, nextCursor, isFinal }
      }
      const rows = rowsOf(request.leasePage(ROWS_AT), limit)
      const market = { market_id: path.market_ticker }
      return { kind: 'data', rows, count: limit, meta: { market }, nextCursor, isFinal }
    },
  ),
  defineRoute(
    {
      id: 'fake_required',
      address: '/v3/venuea-prediction/{market_id}/required',
      tag: 'Fake',
      summary: 'A required parameter',
      description: 'Only for plans with venue A.',
      path: { market_id: required(textParam(40)) },
      query: { metric: required(wordParam(['chance', 'price'])) },
      data: objectOf({ metric: TEXT }),
      paramTexts: {},
    },
    async ({ query: { metric }, grant }) => {
      grant.requireVenue('venuea')
      const notice = { code: 'no_rows_in_range', message: 'Nothing there.' }
      return { kind: 'data', data: { metric }, count: 1, meta: { notice } }
    },
  ),
  defineRoute(
    {
      id: 'fake_failure',
      address: '/v3/failure',
      tag: 'Fake',
      summary: 'Failures',
      description: 'Throws the named failure.',
      path: {},
      query: { kind: required(textParam(200)) },
      data: { type: 'null' },
      paramTexts: {},
    },
    async (request) => {
      const { kind } = request.query
      if (kind === 'leased') request.leasePage()
      if (kind === 'damage') throw new PriorbookError('corrupt_chunk', 'chunk 7 of /secret/tape.db')
      if (kind === 'time') throw new PriorbookError('invalid_time', 'no time')
      throw new Error(`unforeseen ${kind}`)
    },
  ),
  defineRoute(
    {
      id: 'fake_stream',
      address: '/v3/stream-of-rows',
      tag: 'Fake',
      summary: 'A stream',
      description: 'Pieces of a buffer that is written over.',
      path: {},
      query: {
        pieces: integerParam(1, 100_000),
        fail_at: integerParam(0, 100_000),
      },
      formats: ['ndjson'],
      paramTexts: {},
    },
    async ({ query: { pieces = 3, fail_at: failAt } }) => {
      const buffer = new Uint8Array(65_536)
      async function* body(): AsyncGenerator<Uint8Array> {
        for (let piece = 0; piece < pieces; piece++) {
          if (piece === failAt) throw new Error('the disk is gone')
          yield buffer.fill(97 + (piece % 26))
          buffer.fill(0)
        }
      }
      return { kind: 'stream', contentType: 'application/x-ndjson', body: body() }
    },
  ),
]
