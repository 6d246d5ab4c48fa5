import { MEMBER_IDENTITY } from './contract.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  named,
  objectOf,
  orNull,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  wordOf,
  type TypeOf,
} from './json-schema.ts'

const MEMBER_SCHEMA = named(
  'LeadLagMember',
  objectOf({
    ...MEMBER_IDENTITY,
    outcome: described(TEXT_OR_NULL, 'The outcome that is Yes of the contract.'),
    rows: described(COUNT, 'Rows of its book in the range.'),
    moves: described(COUNT, 'Changes of the middle price that were observed, none over a gap.'),
  }),
)

const MOVE_SCHEMA = named(
  'LeadLagMove',
  objectOf({
    row_id: described(ROW_ID, 'The row that shows the move.'),
    time: described(TIME, 'Its time by the clock of the pair.'),
    change: described(DECIMAL, 'The change of the middle price.'),
  }),
)

const CURVE_SCHEMA = named(
  'LeadLagCurve',
  objectOf({ lag_ms: listOf(DECIMAL), correlation: listOf(DECIMAL) }),
)

const PAIR_SCHEMA = named(
  'LeadLagPair',
  objectOf({
    first: described(COUNT, 'The place of a member in `members`.'),
    second: described(COUNT, 'The place of the other.'),
    clock: described(
      named('LeadLagClock', wordOf(['received', 'source'])),
      '`received`: that of the recorder. `source`: those of the venues, which nobody compares with each other.',
    ),
    verdict: described(
      named('LeadLagVerdict', wordOf(['first', 'second', 'not_decided'])),
      'Which of the two moves first.',
    ),
    reason: described(
      orNull(
        named(
          'LeadLagReason',
          wordOf(['too_few_moves', 'no_peak', 'edge_of_grid', 'within_uncertainty']),
        ),
      ),
      'Why it is not decided.',
    ),
    delay_ms: described(
      DECIMAL_OR_NULL,
      'How much later the second moves; negative where the first is the later one. Null without a peak.',
    ),
    low_ms: described(DECIMAL_OR_NULL, 'The delay is between this'),
    high_ms: described(DECIMAL_OR_NULL, 'and this, with 95 % of the draws.'),
    uncertainty_ms: described(DECIMAL_OR_NULL, 'The greater distance of the delay from the two.'),
    correlation: described(DECIMAL_OR_NULL, 'At the delay.'),
    first_moves: described(COUNT, 'Moves of the first that have a time by this clock.'),
    second_moves: COUNT,
    paired_moves: described(COUNT, 'Pairs of moves in one direction that meet at the delay.'),
    evidence: described(
      listOf(named('LeadLagEvidence', objectOf({ first: MOVE_SCHEMA, second: MOVE_SCHEMA }))),
      'The largest of these pairs.',
    ),
    curve: described(orNull(CURVE_SCHEMA), 'With `include_curve`: the correlation at every lag.'),
  }),
)

/** The schema of who moves first. */
export const LEAD_LAG_SCHEMA = named(
  'LeadLag',
  objectOf({
    contract_id: TEXT,
    start_time: TIME,
    end_time: TIME,
    max_lag_ms: COUNT,
    step_ms: COUNT,
    members: listOf(MEMBER_SCHEMA),
    pairs: listOf(PAIR_SCHEMA),
  }),
)

/** Who of the members of a contract moves first. */
export type LeadLagJson = TypeOf<typeof LEAD_LAG_SCHEMA>
