import type { Ladder, Row, Statement, Words } from './conformance-check.ts'

const isTime = (value: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value)
const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const A_LIST = '/v3/{A}/markets?limit=1000&include=native'
const A_DONE = '/v3/{A}/markets?limit=1000&status=resolved&include=native'
const all = (attribute: string): string => `body.data[*].${attribute}`

/** Ladders as a consumer checks them: equal lengths, ordered by side, no price twice, inside (0, 1). */
const isLadder =
  (step: 1 | -1) =>
  ({ price, size }: Ladder): boolean =>
    price.length === size.length &&
    price.every((value, index) => index === 0 || (value - price[index - 1]!) * step > 0) &&
    price.every((value) => value > 0 && value < 1) &&
    size.every((value) => value > 0)

/** The complement of a price, exact to the sixth decimal. */
const complement = (price: number): number => Math.round((1 - price) * 1e6) / 1e6

/** The part "Resources and their fields" and "States and transitions". */
export const RESOURCES: readonly Statement[] = [
  {
    place: 'A record, topic identifier',
    ask: A_LIST,
    at: all('topic_id'),
    is: (value: string, row: Row) => value === String(row.native.topic.marketTopicId),
    wrong: ['1', null],
  },
  {
    place: 'A record, market identifier',
    ask: A_LIST,
    at: all('market_id'),
    is: (value: string, row: Row) => value === String(row.native.market.marketId),
    wrong: ['1', 7],
  },
  {
    place: 'A record, market identifier: it is the path segment',
    ask: '/v3/{A}/{a}',
    at: 'body.data.market_id',
    is: '{a}',
    wrong: ['1'],
  },
  {
    place: 'A record, condition metadata',
    ask: A_LIST,
    at: all('condition'),
    is: ({ id, question }: Row['condition'], row: Row) =>
      id === row.native.market.conditionId && isText(question),
    wrong: [null, { id: '0x00', question: 'Up?' }, {}],
  },
  {
    place: 'A record, outcome-token metadata',
    ask: A_LIST,
    at: all('outcomes'),
    is: (outcomes: Row['outcomes'], row: Row) =>
      same(
        outcomes.map(({ label, index, token_id }) => [label, index, token_id]),
        row.native.market.outcomes.map((said) => [said.name, said.index, said.tokenId]),
      ),
    wrong: [[], [{ label: 'Up', index: 0, token_id: '1' }]],
  },
  {
    place: 'A record, outcome-token metadata: the outcome label',
    ask: '/v3/{A}/{a}',
    at: 'body.data.outcomes[*].label',
    is: (label: string) => label === 'Up' || label === 'Down',
    wrong: ['', null],
  },
  {
    place: 'A record, asset',
    ask: A_LIST,
    at: all('asset'),
    is: (asset: string, row: Row) =>
      ['BTC', 'ETH', 'BNB'].includes(asset) && row.native.topic.symbol === `${asset}USDT`,
    wrong: ['DOGE', 'btc'],
  },
  {
    place: 'A record, asset: BTC, ETH and BNB are covered',
    ask: A_LIST,
    at: 'body.data',
    is: (rows: readonly Row[]) =>
      same([...new Set(rows.map(({ asset }) => asset))].sort(), ['BNB', 'BTC', 'ETH']),
    wrong: [[], [{ asset: 'BTC' }]],
  },
  {
    place: 'A record, market window',
    ask: A_LIST,
    at: all('window'),
    is: (window: string, row: Row) =>
      ['5m', '15m'].includes(window) && row.native.topic.slug.includes(`-${window}-`),
    wrong: ['1h', 5],
  },
  {
    place: 'A record, market window: 5 and 15 minutes are covered',
    ask: A_LIST,
    at: 'body.data',
    is: (rows: readonly Row[]) => new Set(rows.map(({ window }) => window)).size === 2,
    wrong: [[], [{ window: '5m' }]],
  },
  ...(['open_time', 'close_time', 'created_time', 'revision_time'] as const).map((name) => ({
    place: `A record, timestamps: ${name}`,
    ask: A_LIST,
    at: all(name),
    is: isTime,
    wrong: [null, 'soon', 1_700_000_000],
  })),
  {
    place: 'A record, timestamps: open_time is the start that the venue names',
    ask: A_LIST,
    at: all('open_time'),
    is: (value: string, row: Row) => Date.parse(value) === row.native.topic.startDate,
    wrong: ['2026-01-01T00:00:00.000000Z'],
  },
  {
    place: 'A record, status',
    ask: A_LIST,
    at: all('status'),
    is: (status: string) =>
      /^(scheduled|open|paused|closed|determined|disputed|resolved|voided)$/.test(status),
    wrong: ['REGISTERED', null],
  },
  {
    place: 'A record, resolution',
    ask: A_DONE,
    at: all('resolution'),
    is: ({ state, source, reference }: Row['resolution']) =>
      state === 'final' && isText(source) && typeof reference.end_price === 'number',
    wrong: [null, { state: 'none', source: null, reference: { end_price: null } }],
  },
  {
    place: 'A record, winning outcome',
    ask: '/v3/{A}/{a_done}',
    at: 'body.data.winning_outcome',
    is: '{a_winner}',
    wrong: [null, 'Sideways'],
  },
  {
    place: 'A record, volume',
    ask: A_LIST,
    at: all('volume'),
    is: (value: number, row: Row) => value === Number(row.native.market.tradeVolume),
    wrong: [null, '1', -1],
  },
  {
    place: 'A record, liquidity',
    ask: A_LIST,
    at: all('liquidity'),
    is: (value: number, row: Row) => value === Number(row.native.market.liquidity),
    wrong: [null, '1', -1],
  },
  {
    place: 'A record, participant count',
    ask: A_LIST,
    at: all('participant_count'),
    is: (value: number, row: Row) => value === row.native.topic.participantCount,
    wrong: [null, 1.5, '3'],
  },
  {
    place: 'A record, chain',
    ask: A_LIST,
    at: all('chain'),
    is: (value: string, row: Row) => value === row.native.topic.chainId,
    wrong: [null, '1'],
  },
  {
    place: 'A record, exchange contract: not there where the venue names none',
    ask: A_LIST,
    at: 'body.data[*]',
    is: (row: Row) => !('exchange_contract' in row),
    wrong: [{ exchange_contract: null }],
  },
  {
    place: 'A record, rule 1',
    ask: A_LIST,
    at: 'body.data[*]',
    is: ({ topic_id, market_id, condition, outcomes }: Row) =>
      [topic_id, market_id, condition.id, outcomes[0]!.label].every(isText),
    wrong: [{ market_id: '1' }, { topic_id: '1', market_id: '2', condition: {}, outcomes: [] }],
  },
  ...(
    [
      ['A', '/v3/{A}/{a}/snapshots?limit=1000'],
      ['B', '/v3/venueb/{b}/snapshots?limit=1000&include_orderbook=true'],
      ['C', '{C}/snapshots?limit=1000&include_orderbook=true'],
    ] as const
  ).flatMap(([venue, ask]): Statement[] => [
    {
      place: `Book 1: venue ${venue}`,
      ask,
      at: 'body.data[*]',
      is: ({ bids, asks, received_time }: Row) =>
        [bids.price, bids.size, asks.price, asks.size].every(Array.isArray) &&
        isTime(received_time),
      wrong: [{ bids: { price: [] }, asks: { price: [], size: [] } }, null],
    },
    {
      place: `Book 3: venue ${venue}, identifier on every row`,
      ask,
      at: all('market_id'),
      is: `{${venue.toLowerCase()}}`,
      wrong: ['', null, 'other'],
    },
    {
      place: `Book 3: venue ${venue}, observation time on every row`,
      ask,
      at: all('received_time'),
      is: isTime,
      wrong: [null, '', '2026'],
    },
    {
      place: `Book 3: venue ${venue}, bids`,
      ask,
      at: all('bids'),
      is: isLadder(-1),
      wrong: [
        { price: [0.5, 0.4], size: [1] },
        { price: [0.4, 0.5], size: [1, 1] },
        { price: [0.4, 0.4], size: [1, 1] },
        { price: [1.2], size: [1] },
        { price: [0.2], size: [0] },
      ],
    },
    {
      place: `Book 3: venue ${venue}, asks`,
      ask,
      at: all('asks'),
      is: isLadder(1),
      wrong: [{ price: [0.5, 0.4], size: [1, 1] }],
    },
    {
      place: `Book 3: venue ${venue}, not crossed`,
      ask,
      at: 'body.data[*]',
      is: ({ bids, asks }: Row) => !(bids.price[0]! > asks.price[0]!),
      wrong: [{ bids: { price: [0.6] }, asks: { price: [0.5] } }],
    },
  ]),
  {
    place: 'Book 2',
    ask: '/v3/venueb/{b}/snapshots?limit=1000&include_orderbook=true',
    at: 'body.data[*]',
    is: ({ yes, no }: Row) => yes.price.length <= 100 && no.price.length <= 100,
    wrong: [{ yes: { price: Array.from({ length: 101 }, () => 0.5) }, no: { price: [] } }],
  },
  ...(['chance', 'price', 'last_trade'] as const).flatMap((metric): Statement[] => [
    {
      place: `Timeseries ${metric}`,
      ask: `/v3/{A}/{a_sampled}/timeseries?metric=${metric}`,
      at: all(metric),
      is: (value: number) => typeof value === 'number' && value >= 0 && value <= 1,
      wrong: [null, '0.5', 7],
    },
    {
      place: `Timeseries distinct: ${metric} alone`,
      ask: `/v3/{A}/{a_sampled}/timeseries?metric=${metric}`,
      at: 'body.data[*]',
      is: (row: Row) =>
        same(
          ['chance', 'price', 'last_trade', 'value'].filter((name) => name in row),
          [metric],
        ),
      wrong: [{ chance: 1, price: 1 }, { value: 1 }, {}],
    },
  ]),
  {
    place: 'B market 1: series, event, market ticker',
    ask: '/v3/venueb/markets?limit=1000&series={series}&include=native',
    at: 'body.data[*]',
    // A market that only a status message has named so far has no record of the catalogue.
    is: ({ series_ticker, event_ticker, market_ticker, native: { market, lifecycle } }: Row) =>
      market_ticker === (market ?? { ticker: lifecycle.market_ticker }).ticker &&
      event_ticker === (market ?? { event_ticker }).event_ticker &&
      event_ticker.startsWith(`${series_ticker}-`),
    wrong: [{ series_ticker: 'X', event_ticker: 'Y', market_ticker: 'Z', native: { market: {} } }],
  },
  {
    place: 'B market 2: native sides next to the normalized book',
    ask: '/v3/venueb/{b}/snapshots?limit=1000&include_orderbook=true',
    at: 'body.data[*]',
    is: ({ yes, no, bids, asks }: Row) =>
      same(yes, bids) && same({ ...no, price: no.price.map(complement) }, asks),
    wrong: [
      {
        yes: { price: [0.5], size: [1] },
        no: { price: [0.4], size: [1] },
        bids: { price: [0.5], size: [1] },
        asks: { price: [0.4], size: [1] },
      },
    ],
  },
  {
    place: 'B market 2: native ticker and numbers',
    ask: '/v3/venueb/{b}/snapshots?limit=1000',
    at: 'body.data[*]',
    is: ({ market_id, native }: Row, _: unknown, { b }: Words) =>
      market_id === b && Number.isInteger(native.seq),
    wrong: [{ market_id: '{b}', native: {} }],
  },
  {
    place: 'B market 2: native side words of trades',
    ask: '/v3/venueb/{b}/trades',
    at: 'body.data[*]',
    is: ({ taker_side, native }: Row) =>
      taker_side === (native.taker_side === 'yes' ? 'buy' : 'sell'),
    wrong: [{ taker_side: 'buy', native: { taker_side: 'no' } }],
  },
  {
    place: 'B market 3: settlement apart from the observation time',
    ask: '/v3/venueb/{b_done}',
    at: 'body.data.settlement',
    is: ({ result, settled_time }: Row['settlement']) =>
      ['yes', 'no'].includes(result) && isTime(settled_time),
    wrong: [null, { result: 'yes', settled_time: null }],
  },
  {
    place: 'B market 3: rows carry no settlement',
    ask: '/v3/venueb/{b}/snapshots?limit=10',
    at: 'body.data[*]',
    is: (row: Row) => 'received_time' in row && !/settle/.test(Object.keys(row).join()),
    wrong: [{ received_time: '', settlement: {} }],
  },
  {
    place: 'C market 1: event, condition and token are separate',
    ask: '/v3/btc/markets?limit=1000',
    at: 'body.data[*]',
    is: ({ event_id, condition_id, gamma_market_id, outcomes }: Row) => {
      const tokens = outcomes.map(({ token_id }) => token_id)
      const ids = [event_id, condition_id, gamma_market_id, ...tokens]
      return ids.length === 5 && ids.every(isText) && new Set(ids).size === 5
    },
    wrong: [{ event_id: '1', condition_id: '1', gamma_market_id: '2', outcomes: [] }],
  },
  {
    place: 'C market 1: on every row',
    ask: '{C}/snapshots?limit=1000',
    at: 'body.data[*]',
    is: ({ event_id, condition_id, outcome, token_id }: Row) =>
      [event_id, condition_id, outcome, token_id].every(isText),
    wrong: [{ event_id: '1', condition_id: '2', outcome: 'Up', token_id: null }],
  },
  {
    place: 'C market 2',
    ask: '{C}/snapshots?limit=1000',
    at: 'body.data[*]',
    is: ({ source_time, received_time }: Row) =>
      isTime(source_time) && isTime(received_time) && source_time !== received_time,
    wrong: [{ received_time: '2026-01-01T00:00:00.000000Z' }],
  },
  {
    place: 'C market 3',
    ask: '{C}/snapshots?limit=10&include_orderbook=true',
    at: all('bids'),
    is: ({ price, size }: Ladder) => price.length === size.length,
    wrong: [{ price: [0.5] }, []],
  },
  {
    place: 'States 1',
    ask: '/v3/{A}/{a_done}',
    at: 'body.data',
    is: ({ status, resolution, winning_outcome }: Row) =>
      status === 'resolved' && resolution.state === 'final' && isText(winning_outcome),
    wrong: [{ status: 'resolved' }, { status: 'open', resolution: {}, winning_outcome: 'Up' }],
  },
]

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
