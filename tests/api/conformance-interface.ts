import type { Body, Row, Statement, Words } from './conformance-check.ts'

type Rows = readonly Row[]
type Floor = {
  readonly venue: string
  readonly dataset: string
  readonly assets: readonly string[]
  readonly windows: readonly string[] | null
  readonly venue_floor: string
  readonly year_inferred: boolean
  readonly backfilled: boolean
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const LIMIT_1 = [[], [{}, {}]]
const NOT_200 = [201, 204, 301, 404, 500]

/** One request that must be answered with a status. */
const answered = (place: string, ask: string, status = 200, more: object = {}): Statement => ({
  place,
  ask,
  at: 'status',
  is: status,
  wrong: NOT_200.filter((one) => one !== status),
  ...more,
})

/** One request that must be refused with a status and a code. */
const refused = (
  place: string,
  ask: string,
  status: number,
  code: string,
  more: object = {},
): Statement[] => [
  answered(`${place}: status ${status}`, ask, status, more),
  {
    place: `${place}: code ${code}`,
    ask,
    at: 'body',
    is: (body: Body) =>
      body.code === code &&
      body.status === status &&
      [body.type, body.title, body.detail, body.request_id].every(isText),
    wrong: [{}, { code }, { error: code }],
    ...more,
  },
  {
    place: `${place}: problem+json`,
    ask,
    at: 'headers.content-type',
    is: 'application/problem+json',
    wrong: ['application/json', 'text/html'],
    ...more,
  },
]

const floor = (
  place: string,
  wanted: {
    readonly dataset: string
    readonly assets: string
    readonly windows?: string
    readonly day: string
    readonly is_year_given: boolean
  },
): Statement => {
  const isIt = (row: Floor): boolean =>
    row.venue === 'venuea' &&
    row.dataset === wanted.dataset &&
    row.assets.join() === wanted.assets &&
    (row.windows?.join() ?? '') === (wanted.windows ?? '') &&
    row.venue_floor === `${wanted.day}T00:00:00.000000Z` &&
    row.year_inferred === !wanted.is_year_given
  return {
    place,
    ask: '/v3/coverage?venue=venuea',
    at: 'body.data',
    is: (rows: readonly Floor[]) => rows.filter(isIt).length === 1,
    wrong: [[], [{ venue: 'venuea', dataset: wanted.dataset, assets: [], venue_floor: null }]],
  }
}

const BOOK_LISTS = {
  A: '/v3/{A}/{a}/snapshots',
  B: '/v3/venueb/{b}/snapshots',
  C: '{C}/snapshots',
}

/** The parts "What the service does" and "Endpoints" to "Versioning". */
export const INTERFACE: readonly Statement[] = [
  ...Object.entries(BOOK_LISTS).flatMap(([venue, ask]): Statement[] => [
    {
      place: `Service 1: one schema, venue ${venue}`,
      ask: `${ask}?limit=5`,
      at: 'body.data[*]',
      is: (row: Row) =>
        Object.keys(row)
          .filter((key) => !/^(bids|asks|yes|no)$/.test(key))
          .join() === BOOK_KEYS,
      wrong: [{ id: '' }, {}],
    },
    {
      place: `Service 2: the past of venue ${venue}`,
      ask: `${ask}?limit=1000`,
      at: 'body.data',
      is: (rows: Rows) =>
        rows.length > 50 && new Set(rows.map((row) => row.received_time)).size > 10,
      wrong: [[], [{ received_time: '' }]],
    },
    {
      place: `Service 8: venue ${venue}, nothing before capture`,
      ask: `${ask}?start_time=2020-01-01T00:00:00Z&end_time=2020-01-02T00:00:00Z`,
      at: 'body',
      is: ({ data, meta }: Body) =>
        data.length === 0 &&
        /market_not_open|before_capture|late_discovery/.test(JSON.stringify(meta.notice)),
      wrong: [
        { data: [], meta: {} },
        { data: [{}], meta: { notice: { code: 'before_capture' } } },
      ],
    },
    {
      place: `Service 8: venue ${venue}, the time before the first row is a gap`,
      ask: `${ask}?limit=1`,
      at: 'body.meta.gaps',
      is: (gaps: Rows) => gaps.some(({ reason }) => /before_capture|late_discovery/.test(reason)),
      wrong: [[], [{ reason: 'quota' }]],
    },
    {
      place: `Service 9: venue ${venue}, native values stay beside`,
      ask: `${ask}?limit=5`,
      at: 'body.meta.market.native',
      is: (native: object) => Object.keys(native).length > 0,
      wrong: [{}, null],
    },
    {
      place: `Errors 3: venue ${venue}, empty intervals are left out`,
      ask: `${ask}?interval=1s&limit=1000`,
      at: 'body.data',
      is: (rows: Rows) =>
        rows.length > 0 &&
        rows.every(
          (row) => row.bucket_start <= row.received_time && row.received_time < row.bucket_end,
        ),
      wrong: [[], [{ bucket_start: '2', received_time: '1', bucket_end: '3' }]],
    },
    {
      place: `Errors 3: venue ${venue}, gaps are told`,
      ask: `${ask}?limit=1000&order=desc`,
      at: 'body.meta.gaps[*]',
      is: ({ reason, start_time, end_time }: Row) =>
        isText(reason) && isText(start_time) && end_time !== undefined,
      wrong: [{}, { reason: 'quota' }],
    },
    {
      place: `Endpoints 3: venue ${venue}, envelope`,
      ask: `${ask}?limit=2`,
      at: 'body',
      is: ({ data, meta, pagination }: Body) =>
        data.length === 2 &&
        meta.count === 2 &&
        isText(pagination.next_cursor) &&
        pagination.has_more,
      wrong: [{}, { data: [], meta: {}, pagination: {} }],
    },
    {
      place: `Endpoints 3: venue ${venue}, the cursor goes on`,
      ask: `${ask}?limit=2&cursor={cursor}`,
      at: 'body.data',
      is: (rows: Rows) => rows.length === 2 && rows.every(({ sequence }) => sequence > 0),
      wrong: [[]],
    },
  ]),
  {
    place: 'Service 7',
    ask: '/v3/{A}/{a}/execution?side=buy&size=1&at={a_last}',
    at: 'body.data.disclaimer',
    is: 'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.',
    wrong: ['', null],
  },
  answered('Service 3: discovery', '/v3/{A}/markets'),
  answered('Service 3: newest book', '/v3/{A}/{a}/orderbook/latest'),
  answered('Service 3: snapshots', '/v3/{A}/{a}/snapshots'),
  answered('Service 3: price series', '/v3/{A}/{a}/timeseries?metric=price'),
  answered('Service 4: discovery', '/v3/venueb/markets'),
  {
    place: 'Service 4: yes/no ladders',
    ask: `${BOOK_LISTS.B}?include_orderbook=true&limit=100`,
    at: 'body.data',
    is: (rows: Rows) => rows.some(({ yes, no }) => yes.price.length + no.price.length > 0),
    wrong: [[], [{ yes: { price: [] }, no: { price: [] } }], [{}]],
  },
  answered('Service 5: discovery', '/v3/btc/markets'),
  {
    place: 'Service 5: ladders',
    ask: `${BOOK_LISTS.C}?include_orderbook=true&limit=100`,
    at: 'body.data',
    is: (rows: Rows) => rows.some(({ bids, asks }) => bids.size.length + asks.size.length > 0),
    wrong: [[], [{ bids: { size: [] }, asks: { size: [] } }], [{}]],
  },
  ...refused('Service 6: a venue key is none of ours', '/v3/venueb/markets', 401, 'invalid_key', {
    key: 'a-key-of-a-venue',
  }),
  ...['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
    refused(`Endpoints 1: ${method}`, '/v3/{A}/markets', 405, 'method_not_allowed', { method }),
  ),
  ...[
    '/v3/{A}/markets',
    '/v3/{A}/{a}/orderbook/latest',
    '/v3/{A}/{a}/snapshots',
    '/v3/{A}/{a}/timeseries?metric=price',
    '/v3/{A}/{a}/trades',
    '/v3/venueb/markets',
    '/v3/venueb/{b}/snapshots',
    '/v3/btc/markets',
    '{C}/snapshots',
  ].flatMap((ask): Statement[] => [
    ...refused(`Endpoints 2: ${ask}`, ask, 401, 'missing_key', { key: 'none' }),
    answered(`Authentication 1: ${ask}`, ask),
  ]),
  {
    place: 'A routes, markets: cursor-paginated',
    ask: '/v3/{A}/markets?limit=1',
    at: 'body.pagination',
    is: ({ next_cursor, has_more }: Body['pagination']) => isText(next_cursor) && has_more,
    wrong: [{ next_cursor: null, has_more: false }, {}],
  },
  ...['BTC', 'ETH', 'BNB'].map((coin) => ({
    place: `A routes, markets: coin ${coin}`,
    ask: `/v3/{A}/markets?coin=${coin}`,
    at: 'body.data[*].asset',
    is: coin,
    wrong: ['DOGE'],
  })),
  ...['5m', '15m'].map((window) => ({
    place: `A routes, markets: window ${window}`,
    ask: `/v3/{A}/markets?window=${window}`,
    at: 'body.data[*].window',
    is: window,
    wrong: ['1h'],
  })),
  ...['open', 'resolved', 'scheduled'].map((status) => ({
    place: `A routes, markets: status ${status}`,
    ask: `/v3/{A}/markets?status=${status}`,
    at: 'body.data[*].status',
    is: status,
    wrong: ['closed'],
  })),
  {
    place: 'A routes, latest: the newest recorded book',
    ask: '/v3/{A}/{a}/orderbook/latest',
    at: 'body.data.id',
    is: 'venuea:{a}:{a_rows}',
    wrong: ['venuea:{a}:1'],
  },
  {
    place: 'A routes, latest: full depth',
    ask: '/v3/{A}/{a}/orderbook/latest',
    at: 'body.data',
    is: ({ bids, bid_levels }: Row) => bids.price.length === bid_levels,
    wrong: [{ bids: { price: [0.5] }, bid_levels: 9 }],
  },
  {
    place: 'A routes, snapshots: full books by default',
    ask: '/v3/{A}/{a}/snapshots?limit=20',
    at: 'body.data[*]',
    is: ({ bids, asks, bid_levels, ask_levels }: Row) =>
      bids.price.length === bid_levels && asks.price.length === ask_levels,
    wrong: [{ bid_levels: 3, ask_levels: 3 }],
  },
  ...refused(
    'A routes, timeseries: one metric',
    '/v3/{A}/{a}/timeseries',
    400,
    'invalid_parameter',
  ),
  ...refused(
    'A routes, timeseries: only these metrics',
    '/v3/{A}/{a}/timeseries?metric=volume',
    400,
    'invalid_parameter',
  ),
  {
    place: 'A routes, trades: an empty historical dataset',
    ask: '/v3/{A}/{a}/trades',
    at: 'body',
    is: ({ data, meta }: Body) =>
      data.length === 0 && JSON.stringify(meta.notice).includes('trades_not_reconstructed'),
    wrong: [
      { data: [{}], meta: {} },
      { data: [], meta: {} },
    ],
  },
  answered('Errors 2: not an error', '/v3/{A}/{a}/trades'),
  answered('Limits A trades', '/v3/{A}/{a_done}/trades'),
  {
    place: 'B routes, markets: series',
    ask: '/v3/venueb/markets?series={series}',
    at: 'body.data[*].series_ticker',
    is: '{series}',
    wrong: ['KXOTHER'],
  },
  {
    place: 'B routes, markets: start_time and end_time',
    ask: '/v3/venueb/markets?series={series}&start_time={b_open}&end_time={b_close}',
    at: 'body.data',
    is: (rows: Rows, _: unknown, { b }: Words) => rows.some((row) => row.market_ticker === b),
    wrong: [[], [{ market_ticker: 'other' }]],
  },
  {
    place: 'B routes, markets: a range without markets is empty',
    ask: '/v3/venueb/markets?start_time=2020-01-01T00:00:00Z&end_time=2020-01-02T00:00:00Z',
    at: 'body.data',
    is: [],
    wrong: [[{}]],
  },
  {
    place: 'B routes, markets: limit',
    ask: '/v3/venueb/markets?limit=1',
    at: 'body.data',
    is: (rows: Rows) => rows.length === 1,
    wrong: LIMIT_1,
  },
  {
    place: 'B routes, markets: native tickers',
    ask: '/v3/venueb/markets?series={series}',
    at: 'body.data[*]',
    is: ({ series_ticker, event_ticker, market_ticker }: Row) =>
      [series_ticker, event_ticker, market_ticker].every(isText),
    wrong: [{ series_ticker: 'KX', event_ticker: null, market_ticker: 'KX' }],
  },
  {
    place: 'B routes, snapshots: include_orderbook=true',
    ask: `${BOOK_LISTS.B}?include_orderbook=true&limit=20`,
    at: 'body.data[*]',
    is: ({ yes, no }: Row) => yes !== undefined && no !== undefined,
    wrong: [{ yes: {} }],
  },
  {
    place: 'B routes, snapshots: include_orderbook=false',
    ask: `${BOOK_LISTS.B}?include_orderbook=false&limit=20`,
    at: 'body.data[*]',
    is: (row: Row) => 'best_bid' in row && !('yes' in row || 'no' in row || 'bids' in row),
    wrong: [{ best_bid: 1, yes: {} }],
  },
  {
    place: 'B routes, snapshots: market metadata',
    ask: `${BOOK_LISTS.B}?limit=5`,
    at: 'body.meta.market.market_ticker',
    is: '{b}',
    wrong: [null],
  },
  ...refused(
    'B routes, snapshots: a boolean',
    `${BOOK_LISTS.B}?include_orderbook=yes`,
    400,
    'invalid_parameter',
  ),
  ...refused('B routes, ticker: exact', '/v3/venueb/{series}/snapshots', 404, 'unknown_market'),
  {
    place: 'C routes, markets: limit',
    ask: '/v3/btc/markets?limit=1',
    at: 'body.data',
    is: (rows: Rows) => rows.length === 1,
    wrong: LIMIT_1,
  },
  {
    place: 'C routes, snapshots: include_orderbook=true',
    ask: `${BOOK_LISTS.C}?include_orderbook=true&limit=20`,
    at: 'body.data[*]',
    is: ({ bids, asks }: Row) => bids !== undefined && asks !== undefined,
    wrong: [{ bids: {} }],
  },
  {
    place: 'C routes, snapshots: include_orderbook=false',
    ask: `${BOOK_LISTS.C}?include_orderbook=false&limit=20`,
    at: 'body.data[*]',
    is: (row: Row) => 'best_bid' in row && !('bids' in row || 'asks' in row),
    wrong: [{ best_bid: 1, bids: {} }],
  },
  {
    place: 'C routes, snapshots: interval=1m',
    ask: `${BOOK_LISTS.C}?interval=1m&include_orderbook=true`,
    at: 'body.data[*]',
    is: (row: Row) =>
      Date.parse(row.bucket_end) - Date.parse(row.bucket_start) === 60_000 &&
      Date.parse(row.bucket_start) % 60_000 === 0,
    wrong: [{ bucket_start: '2026-01-01T00:00:01Z', bucket_end: '2026-01-01T00:01:01Z' }],
  },
  {
    place: 'C routes, asset: it selects the underlying',
    ask: '/v3/eth/markets',
    at: 'body.data[*].asset',
    is: 'ETH',
    wrong: ['BTC'],
  },
  ...refused('C routes, asset: unknown', '/v3/nothing/markets', 404, 'unknown_asset'),
  {
    place: 'Limits C capture',
    ask: `${BOOK_LISTS.C}?interval=1m&limit=1`,
    at: 'body.data[*].observations',
    is: (count: number) => count > 1,
    wrong: [0, 1],
  },
  answered('Authentication 2: no venue session', '/v3/{A}/markets'),
  ...refused('Authentication 3: venue A from Quant', '/v3/{A}/markets', 403, 'plan_required', {
    key: 'explorer',
  }),
  {
    place: 'Authentication 3: the plan is named',
    ask: '/v3/{A}/{a}/snapshots',
    key: 'explorer',
    at: 'body.plan',
    is: 'quant',
    wrong: ['desk', null],
  },
  answered('Authentication 3: Quant', '/v3/{A}/markets', 200, { key: 'quant' }),
  answered('Authentication 3: Explorer exists', '/v3/btc/markets', 200, { key: 'explorer' }),
  ...refused('Limits A plan', '/v3/{A}/{a}/orderbook/latest', 403, 'plan_required', {
    key: 'explorer',
  }),
  ...refused('Authentication 4: the same scheme', '/v3/whoami', 401, 'missing_key', {
    key: 'none',
  }),
  ...refused('Errors 1: parameters', '/v3/venueb/markets?limit=0', 400, 'invalid_parameter'),
  ...refused('Errors 1: unknown parameter', '/v3/venueb/markets?x=1', 400, 'unknown_parameter'),
  ...refused('Errors 4: unknown market', '/v3/{A}/1/snapshots', 404, 'unknown_market'),
  ...refused('Errors 4: unknown market of B', '/v3/venueb/KXNO-1/snapshots', 404, 'unknown_market'),
  {
    place: 'Limits B levels',
    ask: `${BOOK_LISTS.B}?include_orderbook=true&limit=1000`,
    at: 'body.data[*].yes.price',
    is: (price: readonly number[]) => price.length <= 100,
    wrong: [Array.from({ length: 101 }, () => 0.5)],
  },
  {
    place: 'Limits B cadence: the realized one is told',
    ask: '/v3/coverage?venue=venueb&market={b}',
    at: 'body.data[*].mean_spacing_ms',
    is: (value: number) => value > 0,
    wrong: [0, null],
  },
  floor('Limits A BTC catalogue', {
    dataset: 'catalogue',
    assets: 'BTC',
    day: '2026-05-05',
    is_year_given: true,
  }),
  floor('Limits A ETH and BNB catalogue', {
    dataset: 'catalogue',
    assets: 'ETH,BNB',
    day: '2026-06-29',
    is_year_given: true,
  }),
  floor('Limits A samples', {
    dataset: 'metrics',
    assets: 'BTC,ETH,BNB',
    day: '2026-07-17',
    is_year_given: false,
  }),
  floor('Limits A BTC 15-minute panel', {
    dataset: 'books',
    assets: 'BTC',
    windows: '15m',
    day: '2026-06-26',
    is_year_given: false,
  }),
  floor('Limits A depth', {
    dataset: 'books',
    assets: 'BTC,ETH,BNB',
    day: '2026-07-26',
    is_year_given: false,
  }),
  ...refused('Versioning 1: nothing beside /v3', '/v2/venueb/markets', 404, 'unknown_route'),
  {
    place: 'Versioning 3: the version of the schema',
    ask: '/v3/{A}/markets?limit=1',
    at: 'body.meta.schema_version',
    is: '3.0',
    wrong: ['2', null],
  },
]

const BOOK_KEYS =
  'id,venue,market_id,condition_id,event_id,series_ticker,outcome,token_id,source_time,received_time,sequence,best_bid,best_ask,mid,spread,bid_levels,ask_levels,flags,native'
