import { fromMillis, printMicros } from '../../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  listOf,
  membersOf,
  objectOf,
  orNull,
  ROUTES,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  timeParam,
  VENUE,
  type ConsolidatedJson,
  type ContractJson,
  type ContractWithTermsJson,
} from '../../wire/index.ts'
import {
  answerOf,
  CONTINUE,
  defineTool,
  endOf,
  noticesOf,
  pageOf,
  pick,
  questionOf,
  rowLimit,
} from '../tool.ts'
import { AT } from './market-input.ts'

const MEMBER = objectOf({ venue: VENUE, market_id: TEXT, yes: described(TEXT, 'Its outcome Yes.') })

const CONTRACT_ROW = objectOf({
  contract_id: TEXT,
  title: TEXT_OR_NULL,
  asset: TEXT_OR_NULL,
  window: TEXT_OR_NULL,
  status: TEXT,
  opens: TIME_OR_NULL,
  closes: TIME_OR_NULL,
  comparison: described(TEXT, 'identical only where every term is known and equal.'),
  differs_in: listOf(TEXT),
  members: listOf(MEMBER),
})

/** Contracts that several venues trade. */
export const FIND_CONTRACTS = defineTool({
  name: 'find_contracts',
  title: 'Find what several venues trade',
  description:
    'Find contracts: what is being bet on, with the markets of all venues that bet on it and the terms in which they differ.',
  input: questionOf(
    ROUTES.contracts.query,
    ['q', 'kind', 'status', 'asset', 'window', 'members', 'start_time', 'end_time'],
    { limit: rowLimit(100, 10), continue: CONTINUE },
  ),
  output: pageOf(CONTRACT_ROW),
  async run({ limit = 10, continue: resume, ...filters }, { client, signal }) {
    const params = { ...filters, limit, number_format: 'string' } as const
    const page = await client.contracts(params, { signal, resume }).page()
    return { rows: page.data.map(toRow), ...endOf(page, 'narrow it by asset, window or status') }
  },
})

const COPIED = [
  ...(['title', 'asset', 'window', 'status', 'opens', 'closes', 'comparison'] as const),
  'differs_in',
] as const

function toRow(contract: ContractJson) {
  return {
    contract_id: contract.id,
    ...pick(contract, COPIED),
    members: contract.members.map(({ venue, market_id, yes }) => ({
      venue,
      market_id,
      yes: yes.outcome,
    })),
  }
}

const QUOTE = objectOf({
  venue: VENUE,
  market_id: TEXT,
  best_bid: described(DECIMAL_OR_NULL, 'Of Yes, as the venue shows it.'),
  best_ask: DECIMAL_OR_NULL,
  net_bid: described(DECIMAL_OR_NULL, 'After the fee of a taker.'),
  net_ask: DECIMAL_OR_NULL,
  age_ms: DECIMAL_OR_NULL,
  row_id: described(TEXT_OR_NULL, 'The recorded row, as evidence.'),
  missing: described(TEXT_OR_NULL, 'Why there is no book.'),
})

const EDGE = objectOf({
  yes_at: VENUE,
  no_at: VENUE,
  edge: described(DECIMAL, 'What is left of 1 after both prices and fees; may be negative.'),
})

const PART = objectOf({
  venue: VENUE,
  size: DECIMAL,
  limit_price: DECIMAL,
  levels: COUNT,
  fee: DECIMAL,
})

const ORDER = objectOf({
  side: TEXT,
  size: DECIMAL,
  filled_size: DECIMAL,
  is_complete: FLAG,
  net_amount: DECIMAL,
  fee: DECIMAL,
  average_price: DECIMAL_OR_NULL,
  parts: listOf(PART),
})

const { side, size } = ROUTES.contract_consolidated.query

/** The members of a contract side by side. */
export const COMPARE_VENUES = defineTool({
  name: 'compare_venues',
  title: 'Compare venues at an instant',
  description:
    'The same bet on all venues at one instant: best prices before and after fees, the cheapest pair of Yes and No, the best way to trade a size, and the terms in which the markets differ. A venue whose book was not observed is left out and says why.',
  input: questionOf(
    {},
    [],
    {
      contract_id: described(TEXT, 'From find_contracts.'),
      at: AT,
      size: described(size.schema, 'The best way to trade this many shares of Yes.'),
      side: described(side.schema, 'What to do with `size`; buy where absent.'),
    },
    ['contract_id'],
  ),
  output: answerOf({
    contract: CONTRACT_ROW,
    at: TIME,
    members: listOf(QUOTE),
    pair: described(orNull(EDGE), 'The cheapest Yes and No of two venues.'),
    order: orNull(ORDER),
    differences: listOf(objectOf({ term: TEXT, meaning: TEXT })),
  }),
  async run({ contract_id: id, at, size: amount, side: way = 'buy' }, { client, signal }) {
    const time = printMicros(
      at === undefined ? fromMillis(Date.now()) : timeParam().parse(at, 'at'),
    )
    const style = { number_format: 'string' } as const
    const contract = await client.contract(id, style, { signal })
    const order = amount === undefined ? {} : { size: amount, side: way }
    const params = { at: time, depth: 1000, ...style, ...order }
    const { data, notices } = await client.contractConsolidated(id, params, { signal })
    return {
      contract: toRow(contract.data),
      at: data.at,
      members: data.members.map(toQuote),
      pair: toEdge(data),
      order: toOrder(data),
      differences: differencesOf(contract.data),
      notices: noticesOf([...contract.notices, ...notices]),
      more: 'For every moment with an edge after fees, GET /v3/contracts/{contract_id}/spreads.',
    }
  },
})

const QUOTED = [
  ...(['venue', 'market_id', 'best_bid', 'best_ask', 'net_bid', 'net_ask'] as const),
  ...(['age_ms', 'row_id'] as const),
] as const

function toQuote(member: ConsolidatedJson['members'][number]) {
  return { ...pick(member, QUOTED), missing: member.reason?.message ?? null }
}

function toEdge({ pair, members }: ConsolidatedJson) {
  if (pair === null) return null
  return { yes_at: members[pair.yes]!.venue, no_at: members[pair.no]!.venue, edge: pair.edge }
}

function toOrder({ order }: ConsolidatedJson) {
  if (order === null) return null
  const parts = order.parts.map((part) => pick(part, membersOf(PART)))
  return { ...order, parts }
}

function differencesOf({ differences }: ContractWithTermsJson) {
  return differences.map(({ term, meaning }) => ({ term, meaning }))
}
