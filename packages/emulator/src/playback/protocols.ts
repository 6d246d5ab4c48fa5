import type { VenueId } from '@priorbook/sdk/domain'

/** A venue's socket protocol beside its data: its replies, and what a client sends to get data. */
export type Protocol = {
  readonly path: string
  /** True for the client's text that starts the data. */
  begins(text: string): boolean
  readonly beginsAtOnce: boolean
  /** Replies to a text of the client; a recorded `seq` does not count them. */
  replies(text: string): readonly string[]
}

/** The socket protocol of every venue. */
export const PROTOCOLS: Readonly<Record<VenueId, Protocol>> = {
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
