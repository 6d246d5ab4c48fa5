import type { VenueId } from '@priorbook/sdk/domain'

/** How a venue behaves beside its data: what it answers, and what a client does to get data. */
export type Manners = {
  readonly path: string
  /** Data begin when the client has said this, or at once. */
  begins(text: string): boolean
  readonly beginsAtOnce: boolean
  /** Answers to a text of the client; none of them is counted in a recorded `seq`. */
  replies(text: string): readonly string[]
}

/** The manners of every venue. */
export const MANNERS: Readonly<Record<VenueId, Manners>> = {
  venuea: {
    path: '/sapi/wss',
    beginsAtOnce: true,
    begins: () => true,
    replies: () => [],
  },
  venueb: {
    path: '/trade-api/ws/v2',
    beginsAtOnce: false,
    begins: (text) => commandOf(text)?.cmd === 'subscribe',
    replies(text) {
      const command = commandOf(text)
      if (command === undefined) return []
      const { id = 0, cmd, params = {} } = command
      if (cmd !== 'subscribe') return [JSON.stringify({ id, type: 'ok', msg: {} })]
      const channels = Array.isArray(params.channels) ? params.channels : []
      return channels.map((channel: unknown, index) =>
        JSON.stringify({ id, type: 'subscribed', msg: { channel, sid: index + 1 } }),
      )
    },
  },
  venuec: {
    path: '/ws/market',
    beginsAtOnce: false,
    begins: (text) => text !== 'PING',
    replies: (text) => (text === 'PING' ? ['PONG'] : []),
  },
}

type Command = {
  readonly id?: number
  readonly cmd?: string
  readonly params?: { channels?: unknown }
}

function commandOf(text: string): Command | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
