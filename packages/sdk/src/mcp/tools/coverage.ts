import { isMarketState } from '../../domain/index.ts'
import {
  COUNT,
  DAY_OR_NULL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  membersOf,
  objectOf,
  orNull,
  ROUTES,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  VENUE,
  type DatasetCoverageJson,
  type InstrumentCoverageJson,
} from '../../wire/index.ts'
import { GAP_ROW, gapRow } from '../gap-row.ts'
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
  type ToolContext,
} from '../tool.ts'
import { MARKET_INPUT, MARKET_NEEDED } from './market-input.ts'

/** Holes in what was recorded, with their reasons. */
export const GAPS = defineTool({
  name: 'gaps',
  title: 'What was not observed',
  description:
    'Spans that were not observed, with bounds and reason, of a market, a venue or all. A market that was not open is a state, not a loss: such spans have the reasons market_not_open and market_closed.',
  input: questionOf(ROUTES.gaps.query, ['venue', 'market', 'reason', 'start_time', 'end_time'], {
    limit: rowLimit(500, 20),
    continue: CONTINUE,
  }),
  output: pageOf(GAP_ROW),
  async run({ limit = 20, continue: resume, ...filters }, { client, signal }) {
    const page = await client.gaps({ ...filters, limit }, { signal, resume }).page()
    return { rows: page.data.map(gapRow), ...endOf(page, 'name a market, a reason or a range') }
  },
})

const BOOK_COVERAGE = objectOf({
  outcome: TEXT_OR_NULL,
  first_time: TIME_OR_NULL,
  last_time: TIME_OR_NULL,
  observations: COUNT,
  mean_spacing_ms: described(DECIMAL_OR_NULL, 'Mean time between two observations.'),
  days: listOf(
    objectOf({
      day: TEXT,
      condition: described(TEXT, 'available, degraded (with gaps) or missing.'),
      observations: COUNT,
    }),
  ),
  losses: described(COUNT, 'Gaps in which the market was open.'),
  gaps: described(listOf(GAP_ROW), 'The last 20.'),
})

const MAX_GAPS = 20

/** How well one market is recorded. */
export const COVERAGE = defineTool({
  name: 'coverage',
  title: 'How well a market is recorded',
  description:
    'What is recorded of a market: first and last observation, their number and spacing, days, and what is missing with its reason.',
  input: questionOf({}, [], MARKET_INPUT, MARKET_NEEDED),
  output: answerOf({ books: described(listOf(BOOK_COVERAGE), 'One per recorded book.') }),
  async run({ venue, market_id }, { client, signal }) {
    const params = { venue, market: market_id, number_format: 'string' } as const
    const { data, notices } = await client.coverage(params, { signal })
    const books = data.filter((row): row is InstrumentCoverageJson => row.kind === 'instrument')
    return {
      books: books.map(toBookCoverage),
      notices: noticesOf(notices),
      more: books.some(({ gaps }) => gaps.length > MAX_GAPS)
        ? 'There are more gaps: the tool `gaps` lists all of them.'
        : null,
    }
  },
})

const COPIED = ['outcome', 'first_time', 'last_time', 'observations', 'mean_spacing_ms'] as const

function toBookCoverage(row: InstrumentCoverageJson) {
  const { days, gaps } = row
  return {
    ...pick(row, COPIED),
    days: days.map((day) => pick(day, ['day', 'condition', 'observations'])),
    losses: gaps.filter(({ reason }) => !isMarketState(reason)).length,
    gaps: gaps.slice(-MAX_GAPS).map(gapRow),
  }
}

const DATASET = objectOf({
  venue: VENUE,
  dataset: TEXT,
  first_time: described(TIME_OR_NULL, 'The first row that this installation holds.'),
  first_day: DAY_OR_NULL,
  capture_started_time: TIME_OR_NULL,
  venue_floor: described(TIME_OR_NULL, 'The documented start of the venue’s data.'),
})

const PLAN = objectOf({
  plan: TEXT,
  venues: listOf(VENUE),
  assets: described(orNull(listOf(TEXT)), 'Null for all.'),
  history_days: described(orNull(COUNT), 'Days of history; null for all.'),
})

/** What the service holds, and what the key may read of it. */
export const WHAT_IS_RECORDED = defineTool({
  name: 'what_is_recorded',
  title: 'What this service holds',
  description:
    'Which venues and kinds of data this service records, since when, and what the plan of the key includes. Ask this first.',
  input: questionOf(ROUTES.coverage.query, ['venue']),
  output: answerOf({
    datasets: listOf(DATASET),
    plan: described(orNull(PLAN), 'The plan of the key; null for demonstration data.'),
  }),
  async run(filters, { client, signal }) {
    const { data, notices } = await client.coverage(filters, { signal })
    const datasets = data.filter((row): row is DatasetCoverageJson => row.kind === 'dataset')
    return {
      datasets: datasets.map((row) => pick(row, membersOf(DATASET))),
      plan: await planOf({ client, signal }),
      notices: noticesOf(notices),
      more: null,
    }
  },
})

async function planOf({ client, signal }: ToolContext) {
  if (client.isDemo) return null
  return pick((await client.whoami({ signal })).data, membersOf(PLAN))
}
