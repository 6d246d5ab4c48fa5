import { PriorbookError, isVenueId, showValue, type VenueId } from '@priorbook/sdk/domain'
import { MALFORMED_VARIANTS, type MalformedVariant } from './malform.ts'

/** How many frames a fault hits: every one by default, or a share, at most `count`. */
type Strikes = { readonly share?: number; readonly count?: number }

/** One thing that can go wrong upstream. */
export type Fault =
  /** The frame is never put on the wire. */
  | ({ readonly kind: 'drop' } & Strikes)
  | ({ readonly kind: 'duplicate' } & Strikes)
  /** The frame arrives after its successor. */
  | ({ readonly kind: 'reorder' } & Strikes)
  /** The frame is replaced by one with wrong form or content. */
  | ({ readonly kind: 'malformed'; readonly variant?: MalformedVariant } & Strikes)
  /** The socket stays open and answers pings, but no data arrive. */
  | { readonly kind: 'stall' }
  /** Every frame arrives `delayMs` later, in order. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** Sockets end at once: cut, or closed with a code. */
  | { readonly kind: 'disconnect'; readonly code?: number }
  /** Open sockets neither answer nor close and are cut when the fault ends; new ones work. */
  | { readonly kind: 'half_open' }
  /** Sends one frame of `bytes` bytes; 20 MB by default. */
  | { readonly kind: 'oversized'; readonly bytes?: number }
  | ({ readonly kind: 'http_429' } & Strikes)
  | ({ readonly kind: 'http_5xx'; readonly status?: number } & Strikes)
  | ({ readonly kind: 'http_slow'; readonly delayMs: number } & Strikes)
  /** Requests and sockets are refused as if their signature had expired. */
  | { readonly kind: 'expired_signature' }
  /** The port is closed: connections are refused. */
  | { readonly kind: 'refuse' }
  /** The venue's clock is off by `skewMs`. */
  | { readonly kind: 'clock_skew'; readonly skewMs: number }
  /** The newest `depth` blocks of the chain are replaced, with every new block; use `count`. */
  | ({ readonly kind: 'chain_reorg'; readonly depth: number } & Strikes)
  /** The events of blocks that are mined meanwhile can never be read. */
  | ({ readonly kind: 'chain_gap' } & Strikes)
  /** A list of events of the chain contains every event twice. */
  | ({ readonly kind: 'chain_duplicate' } & Strikes)
  /** Ranges of more than `blocks` blocks are refused. */
  | ({ readonly kind: 'chain_range'; readonly blocks: number } & Strikes)
  /** Requests to the chain are refused as too many. */
  | ({ readonly kind: 'chain_limit' } & Strikes)

/** The name of a fault. */
export type FaultKind = Fault['kind']

/** The target of a fault: a venue, one of its connections, or one market by instrument key. */
export type FaultTarget = {
  readonly venue: VenueId
  readonly connection?: string
  readonly market?: string
}

/** A fault on command; without `forMs` it lasts until it is ended. */
export type Injection = {
  readonly fault: Fault
  readonly target: FaultTarget
  readonly forMs?: number
}

/** Faults, by kind, with the fields that each takes. */
const FIELDS: Readonly<Record<FaultKind, readonly string[]>> = {
  drop: ['share', 'count'],
  duplicate: ['share', 'count'],
  reorder: ['share', 'count'],
  malformed: ['variant', 'share', 'count'],
  stall: [],
  slow: ['delayMs'],
  disconnect: ['code'],
  half_open: [],
  oversized: ['bytes'],
  http_429: ['share', 'count'],
  http_5xx: ['status', 'share', 'count'],
  http_slow: ['delayMs', 'share', 'count'],
  expired_signature: [],
  refuse: [],
  clock_skew: ['skewMs'],
  chain_reorg: ['depth', 'share', 'count'],
  chain_gap: ['share', 'count'],
  chain_duplicate: ['share', 'count'],
  chain_range: ['blocks', 'share', 'count'],
  chain_limit: ['share', 'count'],
}

/** Every fault that can be injected. */
export const FAULT_KINDS = Object.keys(FIELDS) as readonly FaultKind[]

const REQUIRED: Partial<Record<FaultKind, string>> = {
  slow: 'delayMs',
  http_slow: 'delayMs',
  clock_skew: 'skewMs',
  chain_reorg: 'depth',
  chain_range: 'blocks',
}

/** Reads an injection from JSON; throws `invalid_argument` naming what is wrong. */
export function parseInjection(value: unknown): Injection {
  const { fault, target, forMs, ...more } = objectOf(value, 'the injection')
  refuseMore(more, 'the injection')
  if (forMs !== undefined && !(typeof forMs === 'number' && forMs >= 0)) {
    throw wrong(`forMs is ${showValue(forMs)}`)
  }
  const parsed = { fault: parseFault(fault), target: parseTarget(target) }
  return forMs === undefined ? parsed : { ...parsed, forMs }
}

function parseFault(value: unknown): Fault {
  const fault = objectOf(value, 'fault')
  const kind = FAULT_KINDS.find((known) => known === fault['kind'])
  if (kind === undefined) throw wrong(`unknown fault ${showValue(fault['kind'])}`)
  for (const [name, field] of Object.entries(fault)) {
    if (name === 'kind') continue
    if (!FIELDS[kind].includes(name)) throw wrong(`${kind} takes no ${showValue(name)}`)
    const known = name === 'variant' && MALFORMED_VARIANTS.some((variant) => variant === field)
    if (!known && (name === 'variant' || !Number.isFinite(field))) {
      throw wrong(`${name} of ${kind} is ${showValue(field)}`)
    }
  }
  const required = REQUIRED[kind]
  if (required !== undefined && fault[required] === undefined) {
    throw wrong(`${kind} needs ${required}`)
  }
  // Every field was compared with the table above.
  return fault as Fault
}

function parseTarget(value: unknown): FaultTarget {
  const { venue, connection, market, ...more } = objectOf(value, 'target')
  refuseMore(more, 'target')
  if (!isVenueId(venue)) throw wrong(`unknown venue ${showValue(venue)}`)
  for (const text of [connection, market]) {
    if (text !== undefined && typeof text !== 'string') throw wrong(`target ${showValue(text)}`)
  }
  return {
    venue,
    ...(typeof connection === 'string' ? { connection } : {}),
    ...(typeof market === 'string' ? { market } : {}),
  }
}

function objectOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong(`${where} is ${showValue(value)}`)
  }
  return value as Record<string, unknown>
}

function refuseMore(more: object, where: string): void {
  const [name] = Object.keys(more)
  if (name !== undefined) throw wrong(`${where} takes no ${showValue(name)}`)
}

function wrong(detail: string): PriorbookError {
  return new PriorbookError('invalid_argument', detail)
}
