import type { Changes, Follower, StoreReader } from '../store/store.ts'

// Consecutive failures after which a follower is replaced by a new one.
const MAX_FAILURES = 20
const NO_CHANGES: Changes = { books: [], trades: [], markets: [], gaps: [] }

/** Polls a store for committed changes and replaces a follower that keeps failing. */
export class ChangeFollower {
  private readonly store: StoreReader
  private follower: Follower | undefined
  private failures = 0
  private isReplaced = false

  constructor(store: StoreReader) {
    this.store = store
  }

  /** Starts at the store's present, unless already started. */
  async open(): Promise<void> {
    this.follower ??= await this.store.follow()
  }

  /** The changes since the last poll. */
  async poll(): Promise<Changes | undefined> {
    await this.open()
    const { follower } = this
    if (follower === undefined) return undefined
    try {
      const changes = await follower.poll()
      this.failures = 0
      if (!this.isReplaced) return changes
      // The new follower starts at the present and cannot know of a rebuild before it.
      this.isReplaced = false
      return { ...NO_CHANGES, ...changes, missed: 'rebuilt' }
    } catch (error) {
      if (++this.failures === MAX_FAILURES) {
        this.close()
        this.isReplaced = true
      }
      throw error
    }
  }

  /** Stops following; a later `open` starts at the present again. */
  close(): void {
    const { follower } = this
    this.follower = undefined
    this.failures = 0
    this.isReplaced = false
    follower?.close()
  }
}
