import type { Micros } from '@priorbook/sdk/domain'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { ConnectorStatus } from '../capture/contract.ts'
import { createLink } from '../capture/link.ts'
import type { FeedsOptions } from './feeds.ts'
import { BOOK_TOPIC, parseFrame, type NativeFrame } from './native.ts'
import { signSocket } from './signing.ts'

/** One socket and the markets that it carries. */
export interface Shard {
  readonly size: number
  /** It has ended for good: stopped, or refused by the venue. */
  readonly isOver: boolean
  add(marketId: string): void
  drop(marketId: string): void
  renew(marketId: string): void
  start(): void
  stop(): Promise<void>
  status(): ConnectorStatus['sockets'][number]
}

/** The venue publishes no limit; so many books 8 times a second are 1.6 MB/s at most. */
export const TOPICS_PER_SOCKET = 200

// Topics have up to 40 characters, and servers take addresses of 8 KB.
const TOPICS_PER_COMMAND = 50
// The gateway takes 5 messages a second; so many are sent at most.
const COMMAND_EVERY_MS = 250

/** Creates a socket that `start` opens; it ends when the signal aborts. */
export function createShard(slot: number, options: FeedsOptions, signal: AbortSignal): Shard {
  const { sink, log, wsUrl } = options
  const ending = new AbortController()
  /** What it should carry, and what it is subscribed to on the present connection. */
  const wanted = new Set<string>()
  const subscribed = new Set<string>()
  let running: Promise<void> | undefined
  let isOver = false
  let commandMs = -Infinity
  let timer: NodeJS.Timeout | undefined

  const link = createLink({
    slot,
    name: wsUrl,
    sink,
    log,
    target() {
      subscribed.clear()
      for (const marketId of wanted) {
        if (subscribed.size === TOPICS_PER_COMMAND) break
        subscribed.add(marketId)
      }
      const topics = [...subscribed].map(toTopic)
      return signSocket(wsUrl, topics, options.credentials, options.venueNowMs())
    },
    onOpen() {
      options.onOpen()
      command()
    },
    onText,
    expectsData: () => wanted.values().some((marketId) => options.isLive(marketId)),
    onRefused(status) {
      if (status !== 401 && status !== 403) return true
      options.onRefused(status)
      return false
    },
  })

  function onText(received: Micros, bytes: Uint8Array): boolean {
    const value = parseJson(bytes)
    sink.frame(slot, received, bytes, value)
    const frame = readFrame(value)
    if (frame === undefined) return false
    if (frame.type === 'book') {
      options.onBook(frame.marketId)
      return true
    }
    if (isFailedCommand(value)) {
      log.warn({ slot, answer: shown(bytes) }, 'venue A refused a subscription command')
    }
    return false
  }

  /** Sends one command that brings the subscriptions nearer to what is wanted, and plans the next. */
  function command(): void {
    if (timer !== undefined || !link.connected) return
    const waitMs = commandMs + COMMAND_EVERY_MS - performance.now()
    if (waitMs > 0) {
      timer = setTimeout(() => {
        timer = undefined
        command()
      }, waitMs)
      return
    }
    const added = [...wanted].filter((id) => !subscribed.has(id)).slice(0, TOPICS_PER_COMMAND)
    const gone = [...subscribed].filter((id) => !wanted.has(id)).slice(0, TOPICS_PER_COMMAND)
    if (added.length > 0) {
      for (const marketId of added) subscribed.add(marketId)
      sendCommand('SUBSCRIBE', added)
    } else if (gone.length > 0) {
      for (const marketId of gone) subscribed.delete(marketId)
      sendCommand('UNSUBSCRIBE', gone)
    } else {
      return
    }
    command()
  }

  function sendCommand(name: 'SUBSCRIBE' | 'UNSUBSCRIBE', marketIds: readonly string[]): void {
    commandMs = performance.now()
    link.send(JSON.stringify({ command: name, value: marketIds.map(toTopic).join('|') }))
  }

  async function run(): Promise<void> {
    const either = AbortSignal.any([signal, ending.signal])
    try {
      await link.run(either)
    } catch (error) {
      log.error({ slot, error: String(error) }, 'a socket of venue A ended')
    } finally {
      isOver = true
      clearTimeout(timer)
    }
  }

  return {
    get size() {
      return wanted.size
    },
    get isOver() {
      return isOver
    },
    add(marketId) {
      wanted.add(marketId)
      command()
    },
    drop(marketId) {
      wanted.delete(marketId)
      // The last one stays: a socket without topics is ended as a whole.
      if (wanted.size > 0) command()
    },
    renew(marketId) {
      if (!wanted.has(marketId)) return
      subscribed.delete(marketId)
      command()
    },
    start() {
      running ??= run()
    },
    async stop() {
      isOver = true
      ending.abort()
      clearTimeout(timer)
      await running
    },
    status() {
      const { connected, lastFrame } = link
      const subscriptions = connected ? subscribed.size : 0
      return { slot, connected, subscriptions, ...(lastFrame === undefined ? {} : { lastFrame }) }
    },
  }
}

function toTopic(marketId: string): string {
  return BOOK_TOPIC + marketId
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  } catch {
    return undefined
  }
}

// What is malformed the recorder puts into quarantine; here it only does not count as heard.
function readFrame(value: unknown): NativeFrame | undefined {
  try {
    return parseFrame(value)
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}

function isFailedCommand(value: unknown): boolean {
  const { type, data } = value as { readonly type?: unknown; readonly data?: unknown }
  return type === 'COMMAND' && data !== 'SUCCESS'
}

const SHOWN_BYTES = 200

function shown(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('latin1')
}
