import { PARITY_CHECKS } from '../domain/index.ts'
import {
  COUNT,
  DAY,
  described,
  named,
  objectOf,
  orNull,
  TEXT,
  VENUE,
  type TypeOf,
} from './json-schema.ts'

/** The schema of a day of a market in which checks of prices failed. */
export const PARITY_SCHEMA = named(
  'ParityDay',
  objectOf({
    venue: VENUE,
    market_id: TEXT,
    day: DAY,
    observations: described(
      orNull(COUNT),
      'Recorded books of the market on the day; null in lists of several markets.',
    ),
    sum_off: described(
      COUNT,
      'Messages that changed both books of the market, after which a best bid and the best ask of the other book did not add up to 1.',
    ),
    complement_crossed: described(
      COUNT,
      'The same, after which both outcomes together could be bought below 1 or sold above it.',
    ),
    locked: described(COUNT, 'Books whose best bid equals their best ask.'),
    off_tick: described(COUNT, 'Books with a changed price that is not on the market’s tick.'),
    out_of_bounds: described(COUNT, 'Messages refused for a price that is not inside (0, 1).'),
    crossed: described(
      COUNT,
      'Messages refused because the best bid was above the best ask; where one book shows both outcomes, these are bids for Yes and No that add up to more than 1.',
    ),
  }),
)

/** The failed checks of a market on a UTC day. */
export type ParityDayJson = TypeOf<typeof PARITY_SCHEMA>

/** The columns of such days as CSV. */
export const PARITY_COLUMNS: readonly (keyof ParityDayJson)[] = [
  'venue',
  'market_id',
  'day',
  'observations',
  ...PARITY_CHECKS,
]
