import type { LiveChanges, LiveSource } from './source.ts'

// A follower that fails so often in a row is replaced.
const MOST_FAILURES = 20
const NOTHING: LiveChanges = { books: [], trades: [], markets: [], gaps: [] }

/** Follows a source as long as somebody wants it. */
export class Following {
  private readonly source: LiveSource
  private follower: Awaited<ReturnType<LiveSource['follow']>> | undefined
  /** How often in a row it could not say what is new. */
  private failures = 0
  private isReplaced = false

  constructor(source: LiveSource) {
    this.source = source
  }

  /** Begins where the source is now, unless it has begun. */
  async open(): Promise<void> {
    this.follower ??= await this.source.follow()
  }

  /** What is new since the last look. */
  async take(): Promise<LiveChanges | undefined> {
    await this.open()
    const { follower } = this
    if (follower === undefined) return undefined
    try {
      const changes = await follower.take()
      this.failures = 0
      if (!this.isReplaced) return changes
      // It begins where the source is now and knows nothing of what was rebuilt before.
      this.isReplaced = false
      return { ...NOTHING, ...changes, missed: 'rebuilt' }
    } catch (error) {
      if (++this.failures === MOST_FAILURES) {
        this.close()
        this.isReplaced = true
      }
      throw error
    }
  }

  /** Ends it. */
  close(): void {
    const { follower } = this
    this.follower = undefined
    this.failures = 0
    this.isReplaced = false
    follower?.close()
  }
}
