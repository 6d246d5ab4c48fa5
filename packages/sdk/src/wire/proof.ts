import {
  isVenueId,
  parseMicros,
  printMicros,
  PriorbookError,
  type Micros,
  type VenueId,
} from '../domain/index.ts'
import { CHUNK_KINDS, type ChunkKind } from '../tape/index.ts'
import {
  COUNT,
  DAY,
  described,
  listOf,
  named,
  objectOf,
  ORDINAL,
  orNull,
  TEXT,
  TIME,
  VENUE,
  type TypeOf,
} from './json-schema.ts'

// docs/formats/proof.md describes all of this.

const HEX_64 = { type: 'string', pattern: '^[0-9a-f]{64}$' }
const HASH = described<string>(HEX_64, 'SHA-256 in hexadecimal.')

/** The schema of a signed root. */
export const ROOT_SCHEMA = named(
  'SignedRoot',
  objectOf({
    day: DAY,
    number: described(ORDINAL, '1, or more for an amendment of the day.'),
    sequence: described(ORDINAL, 'Counts the statements of the installation.'),
    size: described(ORDINAL, 'Leaves of the tree.'),
    root: HASH,
    statement: described(TEXT, 'The text that is signed.'),
    statement_hash: described(HASH, 'SHA-256 of the statement, which the next statement names.'),
    signature: described<string>(
      { type: 'string', pattern: '^[0-9a-f]{128}$' },
      'Ed25519 over the bytes of the statement, in hexadecimal.',
    ),
    key: described<string>(HEX_64, 'The public key, 32 bytes in hexadecimal.'),
    signed_time: TIME,
  }),
)

/** A signed root: the statement, its signature, and what the statement says. */
export type RootJson = TypeOf<typeof ROOT_SCHEMA>

/** The schema of the leaves of one market. */
export const MARKET_PROOF_SCHEMA = named(
  'MarketProof',
  objectOf({
    venue: VENUE,
    market_id: TEXT,
    runs: listOf(
      named(
        'LeafRun',
        objectOf({
          at: described(COUNT, 'The number of the first leaf, from 0.'),
          leaves: described(listOf(TEXT), 'The texts of consecutive leaves.'),
        }),
      ),
    ),
    hashes: described(listOf(HASH), 'The parts of the tree between the runs, from left to right.'),
  }),
)

/** The leaves of one market with their neighbours, and the hashes that lead from them to the root. */
export type MarketProofJson = TypeOf<typeof MARKET_PROOF_SCHEMA>

/** The schema of what is proved of a day. */
export const DAY_PROOF_SCHEMA = named(
  'DayProof',
  objectOf({
    day: DAY,
    roots: described(listOf(ROOT_SCHEMA), 'The root of the day and its amendments, oldest first.'),
    market: described(
      orNull(MARKET_PROOF_SCHEMA),
      'With `market_id`: its leaves in the newest of the roots.',
    ),
  }),
)

/** The signed roots of a day, and the leaves of one market in the newest of them. */
export type DayProofJson = TypeOf<typeof DAY_PROOF_SCHEMA>

/** The columns of signed roots as CSV. */
export const ROOT_COLUMNS: readonly (keyof RootJson)[] = [
  'day',
  'number',
  'sequence',
  'size',
  'root',
  'statement_hash',
  'signature',
  'key',
  'signed_time',
  'statement',
]

/** What a statement says about the tree of a day. */
export type RootStatement = {
  readonly sequence: number
  /** The start of the day. */
  readonly day: number
  readonly number: number
  /** The hash of the statement of the same day that this one amends; absent for the first. */
  readonly amends?: string | undefined
  readonly size: number
  /** How many leaves each statement of the day added; within each the leaves are sorted. */
  readonly segments: readonly number[]
  readonly root: string
  /** The hash of the statement before this one, of whichever day; zeros for the first of all. */
  readonly previous: string
  readonly signed: number
  readonly key: string
}

const TITLE = 'priorbook root 1'

/** The `previous` of the first statement. */
export const NO_STATEMENT: string = '0'.repeat(64)

/** Writes a statement: the text that is signed. */
export function printStatement(statement: RootStatement): string {
  const { sequence, day, number, amends, size, segments, root, previous, signed, key } = statement
  return [
    TITLE,
    `sequence ${sequence}`,
    `day ${printMicros(day as Micros).slice(0, 10)}`,
    `number ${number}`,
    `amends ${amends ?? '-'}`,
    `size ${size}`,
    `segments ${segments.join(' ')}`,
    `root ${root}`,
    `previous ${previous}`,
    `signed ${printMicros(signed as Micros)}`,
    `key ${key}`,
    '',
  ].join('\n')
}

const FORM = new RegExp(
  `^${TITLE}\nsequence (\\d{1,15})\nday (\\d{4}-\\d{2}-\\d{2})\nnumber (\\d{1,15})\n` +
    'amends (-|[0-9a-f]{64})\nsize (\\d{1,15})\nsegments (\\d{1,15}(?: \\d{1,15})*)\n' +
    'root ([0-9a-f]{64})\nprevious ([0-9a-f]{64})\nsigned (\\S{27})\nkey ([0-9a-f]{64})\n$',
)

/** Reads a statement; throws `unsupported_format` for any other text. */
export function parseStatement(text: string): RootStatement {
  const found = FORM.exec(text)
  if (found === null) {
    throw new PriorbookError('unsupported_format', 'the text is not the statement of a root')
  }
  const [sequence, day, number, amends, size, segments, root, previous, signed, key] = found.slice(
    1,
  ) as [string, string, string, string, string, string, string, string, string, string]
  const statement = {
    sequence: Number(sequence),
    day: parseMicros(`${day}T00:00:00Z`),
    number: Number(number),
    ...(amends === '-' ? {} : { amends }),
    size: Number(size),
    segments: segments.split(' ').map(Number),
    root,
    previous,
    signed: parseMicros(signed),
    key,
  }
  const sum = statement.segments.reduce((total, count) => total + count, 0)
  if (sum !== statement.size || statement.segments.length !== statement.number) {
    throw new PriorbookError('unsupported_format', 'the segments of a root do not fit its size')
  }
  return statement
}

/** A sealed chunk as a leaf of the tree names it. */
export type ChunkLeaf = {
  readonly venue: VenueId
  readonly market: string
  readonly key: string
  readonly kind: ChunkKind
  readonly metric: string
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** The hash of the chunk, as the next chunk of its stream repeats it. */
  readonly hash: string
}

/** Writes a leaf. */
export function printLeaf(leaf: ChunkLeaf): string {
  const { venue, market, key, kind, metric, first, count } = leaf
  const { firstReceived, lastReceived, hash } = leaf
  return JSON.stringify([
    venue,
    market,
    key,
    kind,
    metric,
    first,
    count,
    firstReceived,
    lastReceived,
    hash,
  ])
}

/** Reads a leaf; throws `unsupported_format` for any other text. */
export function parseLeaf(text: string): ChunkLeaf {
  const values = listIn(text)
  const [venue, market, key, kind, metric, first, count, firstReceived, lastReceived, hash] = values
  const isLeaf =
    values.length === 10 &&
    isVenueId(venue) &&
    [market, key, metric, hash].every((value) => typeof value === 'string') &&
    CHUNK_KINDS.some((one) => one === kind) &&
    [first, count, firstReceived, lastReceived].every(Number.isSafeInteger)
  if (!isLeaf) throw new PriorbookError('unsupported_format', 'the text is not a leaf of a root')
  return {
    venue,
    market: market as string,
    key: key as string,
    kind: kind as ChunkKind,
    metric: metric as string,
    first: first as number,
    count: count as number,
    firstReceived: firstReceived as number,
    lastReceived: lastReceived as number,
    hash: hash as string,
  }
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** Orders leaves within a segment: by the bytes of their names, then by first row and hash. */
export function compareLeaves(left: ChunkLeaf, right: ChunkLeaf): number {
  return (
    compareMarkets(left, right) ||
    compareBytes(left.key, right.key) ||
    compareBytes(left.kind, right.kind) ||
    compareBytes(left.metric, right.metric) ||
    left.first - right.first ||
    compareBytes(left.hash, right.hash)
  )
}

/** Orders leaves by their market alone. */
export function compareMarkets(
  left: Pick<ChunkLeaf, 'venue' | 'market'>,
  right: Pick<ChunkLeaf, 'venue' | 'market'>,
): number {
  return compareBytes(left.venue, right.venue) || compareBytes(left.market, right.market)
}

const encoder = new TextEncoder()

// By UTF-8 bytes: code units would order characters beyond U+FFFF differently.
function compareBytes(left: string, right: string): number {
  if (left === right) return 0
  const a = encoder.encode(left)
  const b = encoder.encode(right)
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] !== b[at]) return a[at]! - b[at]!
  }
  return a.length - b.length
}
