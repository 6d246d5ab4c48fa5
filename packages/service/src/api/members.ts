import { isVenueId, VENUE_IDS } from '@priorbook/sdk/domain'
import {
  DEPTH_PARAM,
  Problem,
  STREAM_DATASETS,
  STYLE_PARAMS,
  type MarketSelector,
  type Param,
  type StreamDataset,
  type ValueStyle,
} from '@priorbook/sdk/wire'

/** A message of a client whose members are not checked yet. */
export type Members = Readonly<Record<string, unknown>>

/** The members that name markets. */
export const SELECTOR_MEMBERS = ['venue', 'market_id', 'series', 'asset', 'window'] as const

/** Refuses unknown members. */
export function refuseUnknownMembers(members: Members, allowed: readonly string[]): void {
  const param = Object.keys(members).find((name) => !allowed.includes(name))
  if (param === undefined) return
  throw new Problem('unknown_parameter', `${showMember(param)} is not known here`, {
    param: param.slice(0, 60),
    allowed,
  })
}

/** Parses a selector of markets: one market, a family, or all of a venue. */
export function readSelector(members: Members): MarketSelector {
  const { venue } = members
  if (typeof venue !== 'string' || !isVenueId(venue)) {
    throw new Problem('invalid_parameter', `venue is ${showMember(venue)}`, {
      param: 'venue',
      allowed: VENUE_IDS,
    })
  }
  const names = (['market_id', 'series', 'asset', 'window'] as const).filter(
    (name) => members[name] !== undefined,
  )
  const family = names.find((name) => name !== 'market_id')
  if (names.includes('market_id') && family !== undefined) {
    const detail = `${family} names a family and market_id one market: give one of the two`
    throw new Problem('invalid_parameter', detail, { param: family })
  }
  return {
    venue,
    ...Object.fromEntries(names.map((name) => [name, readText(members[name], name, 200)])),
  }
}

/** Parses the wanted datasets; all of them by default. */
export function readDatasets(value: unknown): ReadonlySet<StreamDataset> {
  if (value === undefined) return new Set(STREAM_DATASETS)
  const words: readonly unknown[] = Array.isArray(value) ? value : []
  const known = STREAM_DATASETS.filter((word) => words.includes(word))
  if (known.length === 0 || known.length !== words.length) {
    throw new Problem('invalid_parameter', `datasets is ${showMember(value)}`, {
      param: 'datasets',
      allowed: STREAM_DATASETS,
      hint: 'A list of different datasets; all of them without.',
    })
  }
  return new Set(known)
}

/** Parses how books are sent: whole up to a depth, or as changes. */
export function readMode({ mode = 'full', depth: levels }: Members): {
  readonly mode: 'full' | 'changes'
  readonly depth: number | undefined
} {
  if (mode !== 'full' && mode !== 'changes') {
    throw new Problem('invalid_parameter', `mode is ${showMember(mode)}`, {
      param: 'mode',
      allowed: ['full', 'changes'],
    })
  }
  const depth = readParam(levels, 'depth', DEPTH_PARAM.depth)
  if (depth !== undefined && mode === 'changes') {
    throw new Problem('invalid_parameter', 'depth does not apply to mode changes', {
      param: 'depth',
      hint: 'Changed levels are sent at any depth.',
    })
  }
  return { mode, depth }
}

/** Parses the style of values. */
export function readStyle(members: Members): ValueStyle {
  const { number_format: number, time_format: time } = members
  return {
    numberFormat: readParam(number, 'number_format', STYLE_PARAMS.number_format),
    timeFormat: readParam(time, 'time_format', STYLE_PARAMS.time_format),
  }
}

// Parses a member like the query parameter of the same name.
function readParam<T>(value: unknown, name: string, param: Param<T, unknown>): T | undefined {
  if (value === undefined) return undefined
  const isPlain = typeof value === 'string' || typeof value === 'number'
  return param.parse(isPlain ? String(value) : showMember(value), name)
}

/** Parses text of a bounded length. */
export function readText(value: unknown, name: string, maxLength: number): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    const detail = `${name} is ${showMember(value)}, not text of 1 to ${maxLength} characters`
    throw new Problem('invalid_parameter', detail, { param: name })
  }
  return value
}

/** A value as shown in errors. */
export function showMember(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value).slice(0, 60)
}
