import { readFileSync, statSync } from 'node:fs'
import * as v from 'valibot'
import { PriorbookError, VENUE_IDS, VENUES } from '@priorbook/sdk/domain'

/** The name of the file with the operator's own plans in a data folder. */
export const PLANS_FILE = 'plans.json'

const STREAM_SCHEMA = v.strictObject({
  /** Connections of a key at a time, over all processes. */
  connections: countFrom(0),
  /** Per connection, like the two below. */
  subscriptions: countFrom(0),
  instruments: countFrom(0),
  replays: countFrom(0),
})

/** What a plan allows on the stream. */
type StreamTerms = v.InferOutput<typeof STREAM_SCHEMA>

// For plans in files that do not name the limits of the stream.
const STREAM_DEFAULT: StreamTerms = {
  connections: 10,
  subscriptions: 50,
  instruments: 2000,
  replays: 4,
}

// For plans in files that do not say how many.
const ALERTS_DEFAULT = 50

const PLAN_SCHEMA = v.strictObject({
  /** The order by price: a refusal names the cheapest plan that would allow the request. */
  rank: countFrom(0),
  venues: v.array(v.picklist(VENUE_IDS)),
  /** Underlying assets in lower case; null for all. */
  assets: v.nullable(v.array(v.string())),
  /** Days of history that may be read; null for all. */
  days: v.nullable(countFrom(1)),
  per_second: v.nullable(countFrom(1, 60_000)),
  per_minute: v.nullable(countFrom(1, 60_000)),
  features: v.array(v.picklist(['audit', 'bulk_beyond_31_days'])),
  stream: v.optional(STREAM_SCHEMA),
  /** Rules of alerts of a key. */
  alerts: v.optional(countFrom(0)),
})

const PLAN_NAME = /^(?!constructor$|prototype$)[a-z][a-z0-9_-]{0,31}$/
const FILE_SCHEMA = v.strictObject({
  plans: v.pipe(
    v.custom<Record<string, unknown>>(
      (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
      'must be an object of plans by name',
    ),
    // Checked before the plans: valibot skips names with a meaning in JavaScript.
    v.check(
      (given) => Object.keys(given).every((name) => PLAN_NAME.test(name)),
      `must have names that match ${PLAN_NAME.source}`,
    ),
    v.record(v.string(), PLAN_SCHEMA),
  ),
})

/** What a plan allows, in the words of `plans.json`. */
export type Plan = v.InferOutput<typeof PLAN_SCHEMA> & {
  readonly name: string
  readonly stream: StreamTerms
  readonly alerts: number
}

/** The plans that come with the service. */
export const DEFAULT_PLANS: readonly Plan[] = [
  {
    name: 'explorer',
    rank: 0,
    venues: VENUE_IDS.filter((venue) => VENUES[venue].isInCheapestPlan),
    assets: ['btc'],
    days: 7,
    per_second: 1,
    per_minute: null,
    features: [],
    stream: { connections: 2, subscriptions: 5, instruments: 100, replays: 1 },
    alerts: 2,
  },
  {
    name: 'quant',
    rank: 1,
    venues: [...VENUE_IDS],
    assets: null,
    days: null,
    per_second: 25,
    per_minute: 1000,
    features: ['audit'],
    stream: STREAM_DEFAULT,
    alerts: ALERTS_DEFAULT,
  },
  {
    name: 'desk',
    rank: 2,
    venues: [...VENUE_IDS],
    assets: null,
    days: null,
    per_second: 100,
    per_minute: null,
    features: ['audit', 'bulk_beyond_31_days'],
    stream: { connections: 50, subscriptions: 200, instruments: 10_000, replays: 16 },
    alerts: 500,
  },
  {
    name: 'unlimited',
    rank: 3,
    venues: [...VENUE_IDS],
    assets: null,
    days: null,
    per_second: null,
    per_minute: null,
    features: ['audit', 'bulk_beyond_31_days'],
    stream: { connections: 10_000, subscriptions: 10_000, instruments: 1_000_000, replays: 64 },
    alerts: 10_000,
  },
]

/** The plans in force. */
export interface PlanBook {
  /** Cheapest first. */
  all(): readonly Plan[]
  find(name: string): Plan | undefined
  /** Reads the file again if it changed, and rises when it did. An invalid file changes nothing. */
  revision(): number
}

/** Opens the default plans, overridden by those of a file; the file may be absent. */
export function openPlanBook(file: string, onTrouble: (why: string) => void = () => {}): PlanBook {
  let seen = stampOf(file)
  let plans = readPlans(file)
  let revision = 1
  return {
    all: () => plans,
    find: (name) => plans.find((plan) => plan.name === name),
    revision() {
      const stamp = stampOf(file)
      if (stamp === seen) return revision
      seen = stamp
      try {
        plans = readPlans(file)
        revision++
      } catch (error) {
        onTrouble(error instanceof Error ? error.message : String(error))
      }
      return revision
    },
  }
}

function stampOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats === undefined ? '' : `${stats.mtimeMs} ${stats.size} ${stats.ino}`
}

function readPlans(file: string): readonly Plan[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return DEFAULT_PLANS
    throw new PriorbookError('invalid_config', `${file} cannot be read`, { cause })
  }
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (cause) {
    throw new PriorbookError('invalid_config', `${file} is not JSON`, { cause })
  }
  const { issues, output } = v.safeParse(FILE_SCHEMA, given)
  if (issues !== undefined) {
    const where = v.getDotPath(issues[0]) ?? 'it'
    throw new PriorbookError('invalid_config', `${file}: ${where} ${issues[0].message}`)
  }
  const plans = new Map(DEFAULT_PLANS.map((plan) => [plan.name, plan]))
  for (const [name, plan] of Object.entries(output.plans)) {
    const { stream = STREAM_DEFAULT, alerts = ALERTS_DEFAULT } = plan
    plans.set(name, { name, ...plan, stream, alerts })
  }
  return [...plans.values()].sort((a, b) => a.rank - b.rank)
}

function countFrom(min: number, max = Number.MAX_SAFE_INTEGER) {
  return v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max))
}
