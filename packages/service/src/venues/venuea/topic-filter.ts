/** What a list of topics is filtered by; topics do not say their category, so its request does. */
export type TopicFilter = {
  readonly query: Readonly<Record<string, string>>
  /** The name of the category; absent for the rounds, which need none. */
  readonly category?: string
}

/** The rounds of all assets, which are listed often: new ones come every few minutes. */
export const ROUNDS: TopicFilter = { query: { l1Category: 'crypto', l2Category: 'up-down' } }
