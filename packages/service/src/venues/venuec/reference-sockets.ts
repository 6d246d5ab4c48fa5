import { parseReferenceKey, VENUES, type Micros } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import { sleep } from '../../lib/wait.ts'
import {
  MAX_BOOK_SLOT,
  type CaptureLog,
  type CaptureSink,
  type ConnectorStatus,
} from '../capture/contract.ts'
import { createLink, SILENT_MS, type Link } from '../capture/link.ts'
import { OwnStalls, SilenceDetector } from '../capture/silence.ts'
import { isOtherAsset, referenceOf, topicOf } from './reference.ts'

/** What the sockets of reference prices need. */
export type ReferenceSocketsOptions = {
  /** Such as wss://ws-live-data.polymarket.com. */
  readonly url: string
  /** Names of feeds: `chainlink`. */
  readonly feeds: readonly string[]
  /** Underlyings: `BTC`, or `btc`. */
  readonly assets: readonly string[]
  readonly pingMs: number
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock: Clock
}

/** How long after a failure of our own a socket is tried again. */
const RETRY_MS = 30_000
/** How often series are looked at. */
const CHECK_MS = 500

/**
 * The sockets of reference prices, one for each feed: a feed that is silent is connected again without the
 * others. They share nothing with those of books.
 */
export class ReferenceSockets {
  readonly #options: ReferenceSocketsOptions
  readonly #sockets: readonly FeedSocket[]

  constructor(options: ReferenceSocketsOptions) {
    this.#options = options
    const feeds = options.assets.length === 0 ? [] : options.feeds
    this.#sockets = VENUES.venuec.references.flatMap(({ feed }, index) =>
      feeds.includes(feed) ? [new FeedSocket(MAX_BOOK_SLOT + 1 + index, feed, options)] : [],
    )
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const sockets = this.#sockets
    const timer = this.#options.clock.setInterval(() => {
      for (const socket of sockets) socket.checkSilence()
    }, CHECK_MS)
    await Promise.all(sockets.map(({ link }) => this.#runLink(link, signal)))
    timer.cancel()
  }

  // Books are recorded whatever happens to prices, so no failure goes on to the connector.
  async #runLink(link: Link, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#options
    while (!signal.aborted) {
      try {
        await link.run(signal)
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        log.error({ error: why }, 'the socket of reference prices failed')
        await sleep(RETRY_MS, signal, clock)
      }
    }
  }

  get status(): ConnectorStatus['sockets'] {
    return this.#sockets.map(({ slot, link, subscriptions }) => {
      const { connected, lastFrame } = link
      const shown = { slot, connected, subscriptions }
      return lastFrame === undefined ? shown : { ...shown, lastFrame }
    })
  }
}

/** When a series was last heard of. */
type Heard = { atMs: number; readonly silence: SilenceDetector; isLost: boolean }

class FeedSocket {
  readonly slot: number
  readonly link: Link
  readonly #options: ReferenceSocketsOptions
  readonly #assets: ReadonlySet<string>
  readonly #heard = new Map<string, Heard>()
  readonly #stalls = new OwnStalls(CHECK_MS)

  constructor(slot: number, feed: string, options: ReferenceSocketsOptions) {
    const { url, assets, pingMs, sink, log, clock } = options
    this.slot = slot
    this.#options = options
    this.#assets = new Set(assets.map((asset) => asset.toUpperCase()))
    this.link = createLink({
      slot,
      target: () => ({ url }),
      name: `${url} ${feed}`,
      onOpen: (send) => {
        this.#heard.clear()
        // All symbols at once: there are about ten, and the venue takes several filters of one topic only
        // in some forms.
        const subscriptions = [{ topic: topicOf(feed), type: 'update' }]
        send(JSON.stringify({ action: 'subscribe', subscriptions }))
      },
      onText: (received, bytes) => this.#onText(received, bytes),
      expectsData: () => true,
      keepAlive: { text: 'ping', everyMs: pingMs },
      sink,
      log,
      clock,
    })
  }

  get subscriptions(): number {
    return this.#assets.size
  }

  /** Notes series that are silent although others of the feed are not. */
  checkSilence(): void {
    const { sink, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const stalledMs = this.#stalls.check(nowMs)
    if (!this.link.connected) return
    for (const [key, heard] of this.#heard) {
      heard.atMs = Math.min(nowMs, heard.atMs + stalledMs)
      const quietMs = nowMs - heard.atMs
      if (heard.isLost || !heard.silence.isSilence(quietMs)) continue
      heard.isLost = true
      const why = `no price for ${Math.round(quietMs)} ms`
      sink.note({ note: 'loss', reason: 'venue_silent', why, keys: [key] })
    }
  }

  #onText(received: Micros, bytes: Uint8Array): boolean {
    const { sink } = this.#options
    if (isControl(bytes)) return false
    const parsed = tryParseMessageJson(bytes)
    const key = referenceOf(parsed)?.key
    const asset = key === undefined ? undefined : parseReferenceKey(key)?.asset
    // Prices of other assets show that the feed lives, and are not kept.
    if (isOtherAsset(parsed)) return true
    if (asset !== undefined && !this.#assets.has(asset)) return true
    const { events } = sink.frame(this.slot, received, bytes, parsed)
    if (key === undefined || events.length === 0) return false
    this.#hear(key)
    return true
  }

  #hear(key: string): void {
    const atMs = this.#options.clock.monotonicMs()
    const heard = this.#heard.get(key)
    if (heard === undefined) {
      this.#heard.set(key, { atMs, silence: new SilenceDetector(SILENT_MS), isLost: false })
      return
    }
    heard.silence.note(atMs - heard.atMs)
    heard.atMs = atMs
    heard.isLost = false
  }
}

const MAX_WORD_BYTES = 8

// An empty frame greets, and `pong` answers our ping; neither is data.
function isControl(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_WORD_BYTES) return false
  return /^(|ping|pong)$/i.test(Buffer.from(bytes).toString('latin1'))
}
