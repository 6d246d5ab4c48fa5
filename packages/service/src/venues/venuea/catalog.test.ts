import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import {
  normalizePredictCatalog,
  normalizeSearch,
  normalizeTopic,
  normalizeTopics,
  type CatalogAnswer,
} from './catalog.ts'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  DOWN_TOKEN,
  MARKET_ID,
  marketObject,
  outcomeObject,
  pageObject,
  predictCategory,
  TOPIC_ID,
  topicObject,
  UP_TOKEN,
  type Draft,
} from './fixtures.testing.ts'

const market = String(MARKET_ID)
const recordsOf = ({ events }: CatalogAnswer) =>
  events.flatMap((event) => (event.kind === 'market' ? [event.record] : []))
const samplesOf = ({ events }: CatalogAnswer) =>
  events.flatMap((event) =>
    event.kind === 'sample' ? [[event.instrument.key, event.metric, event.value]] : [],
  )
const problemsOf = ({ problems }: CatalogAnswer) =>
  problems.map(({ where, error }) => `${where} ${error.code}`)

function recordOf(changes: Draft = {}, own: Draft = {}): MarketRecord {
  const answer = normalizeTopic(topicObject(changes, own), AT)
  expect(answer.problems).toStrictEqual([])
  return recordsOf(answer)[0]!
}

const ended = (up: unknown, down: unknown, own: Draft = {}) =>
  recordOf(
    {},
    {
      outcomes: [
        outcomeObject('Up', 0, { winner: up }),
        outcomeObject('Down', 1, { winner: down }),
      ],
      ...own,
    },
  )

describe('a topic', () => {
  it('becomes a complete record, with all fields of the venue under native', () => {
    const topic = topicObject()
    const { markets: _markets, ...own } = topic
    expect(recordOf()).toStrictEqual({
      venue: 'venuea',
      marketId: market,
      title: 'Bitcoin Up or Down - 15 minutes',
      status: 'open',
      statusNative: 'REGISTERED/OPEN',
      openTime: 1_790_000_100_000_000,
      closeTime: 1_790_001_000_000_000,
      createdTime: 1_789_913_700_000_000,
      resolution: {
        state: 'none',
        source: 'CHAINLINK',
        reference: { feed: 'BTCUSDT', startPrice: '67890.12' },
      },
      volume: '90.1',
      liquidity: '25',
      participantCount: 342,
      outcomes: [
        { label: 'Up', index: 0, tokenId: UP_TOKEN, externalId: '1700001' },
        { label: 'Down', index: 1, tokenId: DOWN_TOKEN, externalId: '1700001' },
      ],
      units: VENUES.venuea.units,
      topicId: String(TOPIC_ID),
      conditionId: '0x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
      question: 'Will BTC go up?',
      slug: 'btc-updown-15m-1790000100',
      asset: 'BTC',
      window: '15m',
      chain: '56',
      exchange: { isYieldBearing: false },
      native: { topic: own, market: marketObject() },
    })
  })

  it('gives two samples per outcome, of two series', () => {
    const answer = normalizeTopic(topicObject(), AT)
    expect(samplesOf(answer)).toStrictEqual([
      [UP_TOKEN, 'chance', '0.52'],
      [UP_TOKEN, 'price', '0.515'],
      [DOWN_TOKEN, 'chance', '0.48'],
      [DOWN_TOKEN, 'price', '0.485'],
    ])
    expect(answer.events[1]).toStrictEqual({
      kind: 'sample',
      instrument: { venue: 'venuea', market, key: UP_TOKEN },
      metric: 'chance',
      value: '0.52',
      ...AT,
    })
  })

  it.each([
    ['REGISTERED', 'MATCHING_NOT_ENABLED', 'scheduled', 'none'],
    ['REGISTERED', 'OPEN', 'open', 'none'],
    ['UNPAUSED', 'OPEN', 'open', 'none'],
    ['OPEN', 'CLOSED', 'closed', 'none'],
    ['REGISTERED', 'CANCEL_ONLY', 'paused', 'none'],
    ['PAUSED', 'OPEN', 'paused', 'none'],
    ['PRICE_PROPOSED', 'CLOSED', 'determined', 'proposed'],
    ['PRICE_DISPUTED', 'CLOSED', 'disputed', 'disputed'],
    ['RESOLVED', 'CLOSED', 'resolved', 'final'],
    ['REMOVED', 'CLOSED', 'voided', 'none'],
  ])(
    'that is %s and %s has status %s and a resolution %s',
    (status, tradingStatus, ours, state) => {
      const record = recordOf({}, { status, tradingStatus })
      expect(record).toMatchObject({
        status: ours,
        statusNative: `${status}/${tradingStatus}`,
        resolution: { state },
      })
    },
  )

  it.each([
    ['SLEEPING', 'OPEN'],
    ['REGISTERED', 'SLEEPING'],
    ['__proto__', 'constructor'],
    [undefined, undefined],
  ])('with words that are not known (%s, %s) has no status', (status, tradingStatus) => {
    const record = recordOf({}, { status, tradingStatus })
    expect(record).not.toHaveProperty('status')
    expect(record.resolution?.state).toBe('none')
  })

  it.each([
    ['btc-updown-5m-1790000100', 'BTCUSDT', 'BTC', '5m'],
    ['eth-updown-15m-1787839200', undefined, 'ETH', '15m'],
    ['btc-price-1h-up-or-down', 'BTCUSDT', 'BTC', '1h'],
    ['bnb-up-or-down-august', undefined, 'BNB', '15m'],
    ['bitcoin-up-or-down', '', 'BTC', '15m'],
    ['doge-updown-5m-1', 'DOGEUSDT', 'DOGE', '5m'],
    ['who-wins', undefined, undefined, '15m'],
  ])('called %s of %s is about %s in %s', (slug, symbol, asset, window) => {
    const record = recordOf({ slug, symbol, variantData: null })
    expect([record.asset, record.window]).toStrictEqual([asset, window])
  })

  it('of no known length has no window', () => {
    expect(recordOf({ slug: 'btc', endDate: 1_790_000_101_000 })).not.toHaveProperty('window')
    expect(recordOf({ slug: 'btc', endDate: null })).not.toHaveProperty('closeTime')
  })

  it.each([
    [false, false, '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689'],
    [true, false, '0x365fb81bd4A24D6303cd2F19c349dE6894D8d58A'],
    [false, true, '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5'],
    [true, true, '0x8A289d458f5a134bA40015085A8F50Ffb681B41d'],
    [undefined, true, undefined],
  ])('with isNegRisk %s and isYieldBearing %s has exchange %s', (neg, yields, contract) => {
    const record = recordOf({ isNegRisk: neg, isYieldBearing: yields })
    expect(record.exchangeContract).toBe(contract)
  })

  it('does not give its title and volume to several markets', () => {
    const others = [marketObject({ tradeVolume: null }), marketObject({ marketId: 2, title: '' })]
    const [first, second] = recordsOf(normalizeTopic(topicObject({ markets: others }), AT))
    expect(first).not.toHaveProperty('volume')
    expect(first!.title).toBe('Up or Down')
    expect(second!.title).toBe('Bitcoin Up or Down - 15 minutes')
    expect(recordOf({}, { tradeVolume: null }).volume).toBe('1580.5')
  })

  it('keeps keys named __proto__ as data', () => {
    const topic: unknown = JSON.parse(
      `{"marketTopicId":1,"__proto__":{"symbol":"BTCUSDT"},"markets":[{"marketId":2,"__proto__":{"status":"RESOLVED"}}]}`,
    )
    const [record] = recordsOf(normalizeTopic(topic, AT))
    expect(record).not.toHaveProperty('status')
    expect(record).not.toHaveProperty('asset')
    expect(JSON.stringify(record!.native)).toContain('"__proto__":{"status":"RESOLVED"}')
  })
})

describe('the end of a market', () => {
  it('is the outcome with the flag, also while the status lags', () => {
    expect(ended(true, false, { tradingStatus: 'CLOSED' })).toMatchObject({
      status: 'resolved',
      statusNative: 'REGISTERED/CLOSED',
      winningOutcome: 'Up',
      resolution: { state: 'final', payouts: ['1', '0'] },
    })
    expect(ended(null, true)).toMatchObject({
      winningOutcome: 'Down',
      resolution: { payouts: ['0', '1'] },
    })
  })

  it('is proposed where the venue says so', () => {
    expect(ended(true, false, { status: 'PRICE_PROPOSED' })).toMatchObject({
      status: 'determined',
      winningOutcome: 'Up',
      resolution: { state: 'proposed', payouts: ['1', '0'] },
    })
  })

  it.each([
    [true, true, 'REGISTERED'],
    [false, false, 'RESOLVED'],
  ])('is a tie where the flags are %s and %s and the status %s', (up, down, status) => {
    const record = ended(up, down, { status })
    expect(record).not.toHaveProperty('winningOutcome')
    expect(record).toMatchObject({
      status: 'resolved',
      resolution: { state: 'final', payouts: ['0.5', '0.5'] },
    })
  })

  it.each([
    [false, false],
    [null, false],
    [undefined, undefined],
    ['true', 1],
  ])('is not known where the flags are %s and %s', (up, down) => {
    const record = ended(up, down, { tradingStatus: 'CLOSED' })
    expect(record.status).toBe('closed')
    expect(record).not.toHaveProperty('winningOutcome')
    expect(record.resolution).not.toHaveProperty('payouts')
  })

  it('is never read from prices', () => {
    const variantData = { startPrice: '1', endPrice: '2', priceFeedProvider: 'CHAINLINK' }
    const outcomes = [
      outcomeObject('Up', 0, { price: '1', chance: '1' }),
      outcomeObject('Down', 1, { price: '0', chance: '0' }),
    ]
    const record = recordOf({ variantData }, { outcomes, status: 'RESOLVED' })
    expect(record.resolution).toStrictEqual({
      state: 'final',
      source: 'CHAINLINK',
      reference: { startPrice: '1', endPrice: '2' },
    })
    expect(record).not.toHaveProperty('winningOutcome')
  })
})

describe('an answer', () => {
  it('may be a page, one topic or a search', () => {
    const one = normalizeTopic(topicObject(), AT)
    expect(normalizeTopics(pageObject([topicObject()]), AT)).toStrictEqual(one)
    expect(normalizeSearch([topicObject()], AT)).toStrictEqual(one)
    expect(normalizeTopics(pageObject([]), AT)).toStrictEqual({ events: [], problems: [] })
  })

  it('keeps its valid parts and reports the malformed ones', () => {
    const outcomes = [
      outcomeObject('Up', 0, { chance: 'high' }),
      outcomeObject('Down', 1, { tokenId: null }),
    ]
    const topics = [
      topicObject({}, { marketId: 1 }),
      'nonsense' as never,
      topicObject({ markets: [{}, marketObject({ marketId: 2 })] }),
      topicObject({ markets: 5 }),
      topicObject({ startDate: 'soon' }),
      topicObject({}, { tradeVolume: '1'.repeat(100) }),
      topicObject({}, { tradeVolume: deepValue() }),
      topicObject({ participantCount: 1.5 }),
      topicObject({}, { outcomes: [{ index: 0 }] }),
      topicObject({ variantData: { startPrice: 'startPrice', endPrice: '5' } }, { marketId: 3 }),
      topicObject({}, { marketId: 4, outcomes }),
      topicObject({ description: deepValue() }, { marketId: 5 }),
    ]
    const answer = normalizeTopics(pageObject(topics), AT)
    expect(recordsOf(answer).map(({ marketId }) => marketId)).toStrictEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ])
    expect(recordsOf(answer)[2]!.resolution?.reference).toStrictEqual({ endPrice: '5' })
    expect(problemsOf(answer)).toStrictEqual([
      'marketTopics[1] invalid_message',
      'marketTopics[2].markets[0] invalid_id',
      'marketTopics[3] invalid_message',
      'marketTopics[4].markets[0] invalid_time',
      'marketTopics[5].markets[0] unrepresentable',
      'marketTopics[6].markets[0] invalid_decimal',
      'marketTopics[7].markets[0] invalid_message',
      'marketTopics[8].markets[0] invalid_message',
      'marketTopics[9].markets[0].variantData.startPrice invalid_decimal',
      'marketTopics[10].markets[0].outcomes[0].chance invalid_decimal',
      'marketTopics[10].markets[0].outcomes[1].chance invalid_message',
      'marketTopics[10].markets[0].outcomes[1].price invalid_message',
    ])
    expect(samplesOf(normalizeTopic(topics[10], AT))).toStrictEqual([[UP_TOKEN, 'price', '0.515']])
  })

  it.each([undefined, null, [], {}, { code: -2014, msg: 'API-key format invalid.' }])(
    'of another shape is refused: %j',
    (answer) => {
      expect(codeOf(() => normalizeTopics(answer, AT))).toBe('invalid_message')
      expect(codeOf(() => normalizeTopic(answer, AT))).toBe('invalid_message')
    },
  )
})

describe('a category of Predict.fun', () => {
  it('becomes records by its own names', () => {
    const category = predictCategory()
    const { markets, ...own } = category
    expect(recordsOf(normalizePredictCatalog({ data: [category] }, AT))).toStrictEqual([
      {
        venue: 'venuea',
        marketId: '1300001',
        title: 'Ethereum Up or Down',
        status: 'resolved',
        statusNative: 'REGISTERED/CLOSED',
        openTime: 1_786_604_400_000_000,
        closeTime: 1_786_604_700_000_000,
        createdTime: 1_786_518_002_000_000,
        resolution: {
          state: 'final',
          source: 'CHAINLINK',
          reference: { feed: 'ETHUSDT', startPrice: '100.5', endPrice: '101' },
          payouts: ['1', '0'],
        },
        winningOutcome: 'Up',
        outcomes: [
          { label: 'Up', index: 0, tokenId: 'up-token' },
          { label: 'Down', index: 1, tokenId: 'down-token' },
        ],
        units: VENUES.venuea.units,
        topicId: '300002',
        conditionId: '0x33',
        questionId: '0x44',
        question: 'Ethereum Up or Down?',
        slug: 'eth-updown-5m-1786604400',
        asset: 'ETH',
        window: '5m',
        exchangeContract: '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5',
        exchange: { isNegRisk: false, isYieldBearing: true },
        native: { category: own, market: (markets as unknown[])[0] },
      },
    ])
  })

  it('may be a market alone, its winner named by its resolution', () => {
    const [data] = predictCategory({
      outcomes: [
        { name: 'Up', indexSet: 1, onChainId: 'a', status: null },
        { name: 'Down', indexSet: 2, onChainId: 'b', status: null },
      ],
      resolution: { name: 'Down', indexSet: 2, status: 'WON' },
    })['markets'] as Draft[]
    const [record] = recordsOf(normalizePredictCatalog({ success: true, data }, AT))
    expect(record).toMatchObject({ winningOutcome: 'Down', status: 'resolved' })
    expect(record).not.toHaveProperty('topicId')
  })

  it('that is malformed has a problem', () => {
    expect(problemsOf(normalizePredictCatalog({ data: [5, {}] }, AT))).toStrictEqual([
      'data[0] invalid_message',
      'data[1] invalid_id',
    ])
    expect(codeOf(() => normalizePredictCatalog(5, AT))).toBe('invalid_message')
  })
})
