import { Redis, type Following } from '../lib/redis.ts'
import { hashOf, type CommitChanges } from '../store/embedded/shared/copy.ts'

const HEAD_BYTES = 8 + 32
/** Larger commits are read from the database: a server of messages is not for those. */
const MAX_BYTES = 1_000_000

/**
 * Brings commits to the followers of a shared tape with their contents, as soon as the database has them. Only
 * the database is asked for what was lost or came in another order.
 */
export class Nudge {
  readonly #redis: Redis

  constructor(address: string, onTrouble: (why: string) => void) {
    this.#redis = new Redis(address, onTrouble)
  }

  /** Tells of commits that the database has. */
  tell(tape: string, commits: readonly CommitChanges[]): void {
    for (const { id, changes } of commits) {
      const isSmall = changes.length <= MAX_BYTES
      const message = Buffer.alloc(HEAD_BYTES + (isSmall ? changes.length : 0))
      message.writeDoubleBE(id)
      if (isSmall) {
        hashOf(changes).copy(message, 8)
        message.set(changes, HEAD_BYTES)
      }
      this.#redis.tell(toChannel(tape), message)
    }
  }

  /** Calls back with commits; without contents where these must be read from the database. */
  follow(
    tape: string,
    onCommit: (id: number, commit: CommitChanges | undefined) => void,
  ): Following {
    return this.#redis.follow(toChannel(tape), (message) => {
      if (message.length < HEAD_BYTES) return
      const id = message.readDoubleBE()
      const changes = message.subarray(HEAD_BYTES)
      const isWhole = changes.length > 0 && hashOf(changes).equals(message.subarray(8, HEAD_BYTES))
      onCommit(id, isWhole ? { id, changes } : undefined)
    })
  }

  close(): void {
    this.#redis.close()
  }
}

function toChannel(tape: string): string {
  return `priorbook:commit:${tape}`
}
