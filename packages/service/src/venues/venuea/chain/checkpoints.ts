/** A block up to which the chain was read. */
export type Checkpoint = {
  /** Counts the checkpoints from 1; after a reorganization it goes back with the position. */
  readonly ordinal: number
  readonly block: number
  /** The first 48 bits of the block's hash, which fit a stored number; 0 where it is not known. */
  readonly hash: number
  /** When we read it, and the block's own time, both in microseconds. */
  readonly received: number
  readonly time: number
}

/** How many checkpoints are kept, to find where a reorganization began. */
const KEPT = 16
const PREFIX = 'chain:venuea'
const NEWEST = `${PREFIX}:newest`
const FIELDS = ['block', 'hash', 'received', 'time'] as const

/** The names of all facts in which the store keeps checkpoints. */
export const CHECKPOINT_FACTS: readonly string[] = [
  NEWEST,
  ...Array.from({ length: KEPT }, (_, slot) => FIELDS.map((field) => nameOf(slot, field))).flat(),
]

/** The facts that a new checkpoint changes. */
export function checkpointFacts(checkpoint: Checkpoint): Record<string, number> {
  const slot = checkpoint.ordinal % KEPT
  return {
    [NEWEST]: checkpoint.ordinal,
    ...Object.fromEntries(FIELDS.map((field) => [nameOf(slot, field), checkpoint[field]])),
  }
}

/** The checkpoints of earlier runs, oldest first. */
export function readCheckpoints(facts: ReadonlyMap<string, number>): Checkpoint[] {
  const newest = facts.get(NEWEST) ?? 0
  const found: Checkpoint[] = []
  for (let ordinal = Math.max(1, newest - KEPT + 1); ordinal <= newest; ordinal++) {
    const [block, hash, received, time] = FIELDS.map((field) =>
      facts.get(nameOf(ordinal % KEPT, field)),
    )
    if (block === undefined || hash === undefined) continue
    const last = found.at(-1)
    // After a reorganization older slots hold blocks of the branch that was left.
    if (last !== undefined && last.block >= block) found.length = 0
    found.push({ ordinal, block, hash, received: received ?? 0, time: time ?? 0 })
  }
  return found
}

/** Adds a checkpoint; returns those that are kept. */
export function withCheckpoint(
  checkpoints: readonly Checkpoint[],
  next: Checkpoint,
): readonly Checkpoint[] {
  return [...checkpoints.slice(1 - KEPT), next]
}

/** The first 48 bits of a hash. */
export function shortHash(hash: string): number {
  return Number.parseInt(hash.slice(2, 14), 16)
}

function nameOf(slot: number, field: (typeof FIELDS)[number]): string {
  return `${PREFIX}:${field}:${slot}`
}
