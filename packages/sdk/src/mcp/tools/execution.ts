import {
  described,
  EXECUTION_SCHEMA,
  MARKET_ROUTES,
  orNull,
  TEXT_OR_NULL,
} from '../../wire/index.ts'
import { answerOf, defineTool, noticesOf, questionOf } from '../tool.ts'
import { AT, MARKET_INPUT, MARKET_NEEDED } from './market-input.ts'

/** What an order would have met. */
export const EXECUTION_QUOTE = defineTool({
  name: 'execution_quote',
  title: 'What an order would have met',
  description:
    'The price, cost and fee of a marketable order against the recorded book at an instant, with the row that proves it. No hidden liquidity, queue or market impact is modelled.',
  input: questionOf(
    MARKET_ROUTES.execution.query,
    ['side', 'size', 'outcome', 'latency_ms', 'max_age_ms'],
    { ...MARKET_INPUT, at: AT },
    MARKET_NEEDED,
  ),
  output: answerOf({
    execution: described(orNull(EXECUTION_SCHEMA), 'Null where there is no book to meet.'),
    missing: described(TEXT_OR_NULL, 'Why there is none.'),
  }),
  async run({ venue, market_id, ...order }, { client, signal }) {
    const params = { ...order, number_format: 'string' } as const
    const { data, notices } = await client
      .market({ venue, market_id })
      .execution(params, { signal })
    return {
      execution: data,
      missing: data === null ? (notices[0]?.message ?? 'there is no book') : null,
      notices: noticesOf(notices),
      more:
        data?.is_complete === false
          ? `Only ${data.filled_size} of ${data.size} could be filled: the recorded book has no more.`
          : null,
    }
  },
})
