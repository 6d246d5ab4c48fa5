import type { Micros } from '@priorbook/sdk/domain'
import {
  FEED_PARAM,
  Problem,
  RANGE_PARAMS,
  type BookPageOptions,
  type MarketSelector,
  type ReferenceSelector,
  type StreamDataset,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import {
  readDatasets,
  readMode,
  readSelector,
  readStyle,
  readText,
  refuseUnknownMembers,
  SELECTOR_MEMBERS,
  showMember,
  type Members,
} from '../members.ts'

/** A validated `replay` message; markets are not looked up yet. */
export type ReplayRequest = {
  readonly id: string
  readonly selectors: readonly MarketSelector[]
  readonly references: readonly ReferenceSelector[]
  readonly start: Micros
  readonly end: Micros
  /** Recorded seconds per second; Infinity: as fast as the client reads. */
  readonly speed: number
  readonly datasets: ReadonlySet<StreamDataset>
  readonly mode: 'full' | 'changes'
  readonly style: ValueStyle
  readonly options: BookPageOptions
}

/** Max entries of `markets`. */
export const MAX_SELECTORS = 100
/** Max entries of `references`. */
const MAX_REFERENCES = 20
/** Max speed other than `max`. */
export const MAX_SPEED = 100_000

const PARAMS = [
  'op',
  'id',
  'markets',
  'references',
  'start_time',
  'end_time',
  'speed',
  'datasets',
  'mode',
  'depth',
  'number_format',
  'time_format',
] as const

/** Validates a `replay` message; throws `Problem`. */
export function parseReplay(message: Members): ReplayRequest {
  refuseUnknownMembers(message, PARAMS)
  const start = readTime(message['start_time'], 'start_time')
  const end = readTime(message['end_time'], 'end_time')
  if (end <= start) {
    throw new Problem('invalid_range', 'end_time is not after start_time', {
      param: 'end_time',
      hint: 'The range is from start_time up to, but not including, end_time.',
    })
  }
  const { mode, depth } = readMode(message)
  const style = readStyle(message)
  return {
    id: readText(message['id'], 'id', 64),
    selectors: readSelectors(message['markets']),
    references: readReferences(message['references']),
    start,
    end,
    speed: readSpeed(message['speed']),
    datasets: readDatasets(message['datasets']),
    mode,
    style,
    options: { ladders: true, depth, allLevels: mode === 'changes', ...style },
  }
}

function readSelectors(value: unknown): readonly MarketSelector[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new Problem('invalid_parameter', 'markets is not a list of markets', {
      param: 'markets',
      hint: 'Each entry has venue and market_id; /v3/markets lists both.',
    })
  }
  if (value.length > MAX_SELECTORS) {
    throw new Problem('invalid_parameter', `markets has more than ${MAX_SELECTORS} entries`, {
      param: 'markets',
      hint: 'Name a family by series, asset or window.',
    })
  }
  return value.map((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      throw new Problem('invalid_parameter', 'an entry of markets is not an object', {
        param: 'markets',
      })
    }
    refuseUnknownMembers(entry as Members, SELECTOR_MEMBERS)
    return readSelector(entry as Members)
  })
}

function readReferences(value: unknown): readonly ReferenceSelector[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > MAX_REFERENCES) {
    throw new Problem('invalid_parameter', 'references is not a short list of assets', {
      param: 'references',
      hint: `At most ${MAX_REFERENCES} entries, each with asset, and feed for one feed.`,
    })
  }
  return value.map((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      throw new Problem('invalid_parameter', 'an entry of references is not an object', {
        param: 'references',
      })
    }
    const members = entry as Members
    refuseUnknownMembers(members, ['asset', 'feed'])
    const asset = readText(members['asset'], 'asset', 20)
    const { feed } = members
    if (feed === undefined) return { asset }
    return { asset, feed: FEED_PARAM.parse(readText(feed, 'feed', 32), 'feed') }
  })
}

function readSpeed(value: unknown): number {
  if (value === undefined) return 1
  if (value === 'max') return Infinity
  if (typeof value !== 'number' || !(value > 0 && value <= MAX_SPEED)) {
    throw new Problem('invalid_parameter', `speed is ${showMember(value)}`, {
      param: 'speed',
      hint: `max, or a number above 0 and up to ${MAX_SPEED}; 1 is the recorded pace.`,
    })
  }
  return value
}

function readTime(value: unknown, name: 'start_time' | 'end_time'): Micros {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new Problem('invalid_parameter', `${name} is ${showMember(value)}`, {
      param: name,
      hint: 'Such as 2026-08-11T01:15:15Z, or 1786410915000.',
    })
  }
  return RANGE_PARAMS[name].parse(String(value), name)
}
