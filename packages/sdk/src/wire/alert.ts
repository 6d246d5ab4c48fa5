import { GAP_SCHEMA } from './gap.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  named,
  objectOf,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  withMembers,
  wordOf,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'

/** What a rule can be about. */
export const ALERT_KINDS = ['price', 'spread', 'depth', 'edge', 'gap', 'resolved'] as const

/** What a rule is about. */
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Max characters of the address of a webhook. */
export const MAX_WEBHOOK = 2000

function text(maxLength: number): JsonSchema<string> {
  return { type: 'string', minLength: 1, maxLength }
}

/** The schema of a rule as its owner writes it. */
export const ALERT_RULE_SCHEMA = named(
  'AlertRule',
  objectOf(
    {
      kind: named('AlertKind', wordOf(ALERT_KINDS)),
      name: described(text(100), 'A name for people; repeated in every event.'),
      venue: VENUE,
      market_id: described(text(200), 'One market, by the venue’s own identifier.'),
      asset: described(text(20), 'Or every market of this asset.'),
      window: described(text(10), 'With `asset`: rounds of this length.'),
      series: described(text(200), 'Or every market of this series.'),
      outcome: described(
        text(200),
        'Only this outcome, by its label, where every outcome has a book of its own.',
      ),
      contract_id: described(text(200), 'Of kind edge: the contract.'),
      of: described(
        named('AlertPrice', wordOf(['bid', 'ask', 'mid'])),
        'Of kind price: the best bid, the best ask, or their middle (the default).',
      ),
      side: described(named('BookSide', wordOf(['bid', 'ask'])), 'Of kind depth: which side.'),
      within: described(
        DECIMAL,
        'Of kind depth: only levels at most this far from the best price; all without it.',
      ),
      above: described(DECIMAL, 'The rule fires when the value rises above this.'),
      below: described(DECIMAL, 'The rule fires when the value falls below this.'),
      rearm: described(
        DECIMAL,
        'How far the value must come back from the threshold before the rule can fire again; 0 by default.',
      ),
      on: described(
        named('AlertGapMoment', wordOf(['begun', 'ended', 'both'])),
        'Of kind gap: which moments; both by default.',
      ),
      webhook: described(text(MAX_WEBHOOK), 'Where events are sent: an https address.'),
    },
    {
      optional: [
        'name',
        'venue',
        'market_id',
        'asset',
        'window',
        'series',
        'outcome',
        'contract_id',
        'of',
        'side',
        'within',
        'above',
        'below',
        'rearm',
        'on',
      ],
      description: 'What to watch, and where to send what happens.',
    },
  ),
)

/** A rule as its owner writes it. */
export type AlertRuleJson = TypeOf<typeof ALERT_RULE_SCHEMA>

/** The schema of a stored rule. */
export const ALERT_SCHEMA = named(
  'Alert',
  objectOf({
    alert_id: TEXT,
    created_time: TIME,
    state: described(
      named('AlertState', wordOf(['active', 'paused'])),
      'Paused while the key or its plan does not allow what the rule watches.',
    ),
    rule: ALERT_RULE_SCHEMA,
    fired: described(COUNT, 'Events so far, tests included.'),
    pending: described(COUNT, 'Events that wait for delivery.'),
    delivered: COUNT,
    dropped: described(COUNT, 'Events that were given up, and were not delivered.'),
    last_error: described(TEXT_OR_NULL, 'Why the newest attempt failed; null where it did not.'),
  }),
)

/** A stored rule. */
export type AlertJson = TypeOf<typeof ALERT_SCHEMA>

/** The schema of a rule that was just created. */
export const ALERT_CREATED_SCHEMA = named(
  'AlertCreated',
  withMembers(ALERT_SCHEMA, {
    secret: described(TEXT, 'Signs deliveries. It is shown this once and cannot be read again.'),
  }),
)

/** A rule that was just created, with its secret. */
export type AlertCreatedJson = TypeOf<typeof ALERT_CREATED_SCHEMA>

const GAP_EVENT_SCHEMA = named(
  'AlertGap',
  objectOf({
    moment: named('AlertGapEvent', wordOf(['begun', 'ended'])),
    gap: GAP_SCHEMA,
  }),
)

const EDGE_EVENT_SCHEMA = named(
  'AlertEdge',
  objectOf({
    contract_id: TEXT,
    yes_row: described(TEXT, 'The book in which Yes is bought, by the id of its row.'),
    no_row: described(TEXT, 'The book in which No is bought, by the id of its row.'),
  }),
)

const RESOLUTION_EVENT_SCHEMA = named(
  'AlertResolution',
  objectOf({ status: TEXT, winning_outcome: TEXT_OR_NULL }),
)

/** The schema of an event: the body of a delivery. */
export const ALERT_EVENT_SCHEMA = named(
  'AlertEvent',
  objectOf(
    {
      id: described(TEXT, 'The same in every attempt, and of no other event.'),
      kind: named('AlertEventKind', wordOf([...ALERT_KINDS, 'test'])),
      alert_id: TEXT,
      number: described(COUNT, 'Counts the events of the rule from 1, without a hole.'),
      name: TEXT_OR_NULL,
      time: described(TIME, 'When what caused it was received.'),
      venue: orNull(VENUE),
      market_id: TEXT_OR_NULL,
      key: described(TEXT_OR_NULL, 'The instrument.'),
      row_id: described(TEXT_OR_NULL, 'The book that caused it.'),
      value: described(DECIMAL_OR_NULL, 'The value that passed the threshold.'),
      above: DECIMAL_OR_NULL,
      below: DECIMAL_OR_NULL,
      edge: orNull(EDGE_EVENT_SCHEMA),
      gap: orNull(GAP_EVENT_SCHEMA),
      resolution: orNull(RESOLUTION_EVENT_SCHEMA),
    },
    { description: 'Something that a rule was waiting for.' },
  ),
)

/** Something that a rule was waiting for. */
export type AlertEventJson = TypeOf<typeof ALERT_EVENT_SCHEMA>

/** The schema of an event and how its delivery stands. */
export const ALERT_DELIVERY_SCHEMA = named(
  'AlertDelivery',
  objectOf({
    id: TEXT,
    number: COUNT,
    state: named('AlertDeliveryState', wordOf(['pending', 'delivered', 'dropped'])),
    attempts: COUNT,
    next_time: described(TIME_OR_NULL, 'When the next attempt is due.'),
    ended_time: described(TIME_OR_NULL, 'When it was delivered or dropped.'),
    status: described(orNull(COUNT), 'The status of the newest answer; null without one.'),
    error: TEXT_OR_NULL,
    event: ALERT_EVENT_SCHEMA,
  }),
)

/** An event and how its delivery stands. */
export type AlertDeliveryJson = TypeOf<typeof ALERT_DELIVERY_SCHEMA>
