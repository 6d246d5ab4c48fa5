import type { Payload, Session, Wire, World, WorldEvent } from '../../core/upstream.ts'
import { Audience, type Client, type Listener } from './audience.ts'
import type { Condition, Conditions } from './conditions.ts'
import {
  toBestFrame,
  toBookFrame,
  toNewMarketFrame,
  toPriceChangeFrame,
  toResolvedFrame,
  toTickFrame,
  toTradeFrame,
} from './frames.ts'
import { claimOf, winnerOf, type Memory } from './memory.ts'
import { complementOf, type ReadBooks, type TokenBook } from './token-book.ts'
import { tradedOf, type Traded } from './traded.ts'

/** The market channel: changes of the subscribed tokens, without sequence numbers. */
export interface Channel {
  open(wire: Wire): Session
  onEvent(event: WorldEvent): void
}

/** Max tokens per connection that still get initial books (undocumented). */
export const MAX_ASSETS = 500

/** The parts that the channel reads from. */
export type ChannelParts = {
  readonly world: World
  readonly conditions: Conditions
  readonly memory: Memory
  readonly readBooks: ReadBooks
}

type BookEvent = Extract<WorldEvent, { kind: 'book' }>
type TickEvent = Extract<WorldEvent, { kind: 'tick' }>

const BOTH = [0, 1] as const

/** Data without a book for the truth log; connection faults still apply to it. */
const NO_CLAIM: readonly Payload[] = []

/** Creates the market channel. */
export function createChannel(parts: ChannelParts): Channel {
  return new MarketChannel(parts)
}

class MarketChannel implements Channel {
  private readonly world: World
  private readonly conditions: Conditions
  private readonly memory: Memory
  private readonly readBooks: ReadBooks
  private readonly audience = new Audience()
  private readonly bests = new WeakMap<Condition, readonly [string, string]>()

  constructor({ world, conditions, memory, readBooks }: ChannelParts) {
    this.world = world
    this.conditions = conditions
    this.memory = memory
    this.readBooks = readBooks
  }

  open(wire: Wire): Session {
    const client = this.audience.join(wire)
    return {
      onText: (text) => this.obey(client, text),
      onClose: () => this.audience.leave(client),
    }
  }

  onEvent(event: WorldEvent): void {
    if (this.audience.clients.size === 0) return
    const condition = this.conditions.of(event.proposition)
    switch (event.kind) {
      case 'book':
        return this.onBook(condition, event)
      case 'tick':
        return this.onTick(condition, event)
      case 'listed':
        return this.onListed(condition, event.at)
      case 'phase':
        if (event.proposition.phase === 'open') this.onOpen(condition, event.at)
        else if (event.proposition.phase === 'resolved') this.onResolved(condition, event.at)
        return
      case 'moved':
        // A moved end shows in the catalogue alone.
        return
    }
  }

  private full(condition: Condition, index: 0 | 1, time: number): Payload {
    const { book } = this.readBooks(condition)[index]
    return { kind: 'full', key: condition.tokens[index], book, time }
  }

  private sendBook({ wire }: Client, condition: Condition, index: 0 | 1, at: number): void {
    const frame = toBookFrame(condition, index, this.readBooks, at)
    wire.send(JSON.stringify(frame), [this.full(condition, index, at)])
  }

  /** Sends all initial books in one frame; tokens without a book are silently omitted. */
  private dump({ wire }: Client, tokens: readonly string[]): void {
    const frames: object[] = []
    const payloads: Payload[] = []
    for (const token of tokens) {
      const found = this.conditions.byToken(token)
      if (found === undefined || !this.memory.hasBook(found.condition.proposition)) continue
      const { condition, index } = found
      const at = this.memory.changedAt(condition.proposition)
      frames.push(toBookFrame(condition, index, this.readBooks, at))
      payloads.push(this.full(condition, index, at))
    }
    wire.send(JSON.stringify(frames), payloads.length === 0 ? undefined : payloads)
  }

  private obey(client: Client, text: string): void {
    if (text === 'PING') {
      client.wire.send('PONG')
      return
    }
    const request = parseSubscribeRequest(text)
    if (request === undefined) {
      client.wire.send('INVALID OPERATION')
      return
    }
    if (request.custom !== undefined) client.custom = request.custom
    if (request.operation === 'unsubscribe') {
      for (const token of request.assets) this.audience.unfollow(client, token)
      return
    }
    const fresh = request.assets.filter((token) => !client.assets.has(token))
    for (const token of fresh) this.audience.follow(client, token)
    if (fresh.length === 0 && request.assets.length > 0) client.wire.send('NO NEW ASSETS')
    else if (fresh.length > 0 && request.dump && client.assets.size <= MAX_ASSETS)
      this.dump(client, fresh)
  }

  private onBook(condition: Condition, event: BookEvent): void {
    const listeners = this.audience.of(condition)
    if (listeners.length === 0) return
    if (event.fill === undefined) this.sendChanges(listeners, condition, event)
    else {
      const traded = tradedOf(this.world, condition, event.fill, event.at)
      for (const { client, wanted } of listeners) {
        for (const index of BOTH)
          if (wanted[index]) this.sendBook(client, condition, index, event.at)
        if (wanted[traded.index]) this.sendTrade(client, condition, traded, event.at)
      }
    }
    this.sendBests(listeners, condition, event.at)
  }

  // Clients that follow the same tokens get the same text.
  private sendChanges(
    listeners: readonly Listener[],
    condition: Condition,
    event: BookEvent,
  ): void {
    if (event.levels.length === 0) return
    const books = this.readBooks(condition)
    const made = new Map<Listener['wanted'], { text: string; payloads: readonly Payload[] }>()
    for (const { client, wanted } of listeners) {
      let frame = made.get(wanted)
      if (frame === undefined) {
        const payloads = BOTH.filter((index) => wanted[index]).map((index): Payload => ({
          kind: 'change',
          key: condition.tokens[index],
          book: books[index].book,
          time: event.at,
          levels: event.levels.map((level) => levelOf(level, index)),
        }))
        const text = JSON.stringify(toPriceChangeFrame(condition, event, books, wanted))
        made.set(wanted, (frame = { text, payloads }))
      }
      client.wire.send(frame.text, frame.payloads)
    }
  }

  private sendTrade({ wire }: Client, condition: Condition, traded: Traded, at: number): void {
    const { index, fill, hash } = traded
    const payload: Payload = { kind: 'trade', key: condition.tokens[index], id: hash, fill }
    wire.send(JSON.stringify(toTradeFrame(condition, index, fill, at, hash)), [payload])
  }

  private sendBests(listeners: readonly Listener[], condition: Condition, at: number): void {
    const books = this.readBooks(condition)
    const before = this.bests.get(condition)
    const now = [bestsOf(books[0]), bestsOf(books[1])] as const
    this.bests.set(condition, now)
    for (const { client, wanted } of listeners) {
      if (!client.custom) continue
      for (const index of BOTH) {
        if (!wanted[index] || before?.[index] === now[index]) continue
        client.wire.send(JSON.stringify(toBestFrame(condition, index, books[index], at)), NO_CLAIM)
      }
    }
  }

  private onTick(condition: Condition, event: TickEvent): void {
    for (const { client, wanted } of this.audience.of(condition)) {
      for (const index of BOTH) {
        if (!wanted[index]) continue
        client.wire.send(JSON.stringify(toTickFrame(condition, index, event)), NO_CLAIM)
        this.sendBook(client, condition, index, event.at)
      }
    }
  }

  // Clients that subscribed before the market had a book get their initial book now.
  private onOpen(condition: Condition, at: number): void {
    for (const { client, wanted } of this.audience.of(condition)) {
      for (const index of BOTH) if (wanted[index]) this.sendBook(client, condition, index, at)
    }
  }

  private onListed(condition: Condition, at: number): void {
    const text = JSON.stringify(toNewMarketFrame(condition, at))
    for (const { custom, wire } of this.audience.clients) {
      if (custom) wire.send(text, [claimOf(condition)])
    }
  }

  // About half of the markets are resolved without a frame, so clients must also poll.
  private onResolved(condition: Condition, at: number): void {
    const { proposition } = condition
    const winner = winnerOf(proposition)
    const told = Number.parseInt(this.world.hex(`venuec/${condition.conditionId}/told`, 1), 16) < 8
    if (winner === undefined || !told) return
    const text = JSON.stringify(toResolvedFrame(condition, winner, at))
    for (const { client } of this.audience.of(condition)) {
      if (client.custom) client.wire.send(text, [claimOf(condition)])
    }
  }
}

// A bid for one token is an offer of the other.
function levelOf(
  { side, price, size }: BookEvent['levels'][number],
  index: 0 | 1,
): { readonly side: 'bid' | 'ask'; readonly price: number; readonly size: number } {
  if (index === 0) return { side, price, size }
  return { side: side === 'bid' ? 'ask' : 'bid', price: complementOf(price), size }
}

function bestsOf({ bestBid, bestAsk }: TokenBook): string {
  return `${bestBid}/${bestAsk}`
}

/** A subscribe or unsubscribe message of a market channel client. */
type SubscribeRequest = {
  readonly operation: 'subscribe' | 'unsubscribe'
  readonly assets: readonly string[]
  /** Also send best prices, new markets and resolutions; undefined keeps the current setting. */
  readonly custom: boolean | undefined
  /** Send the initial books. */
  readonly dump: boolean
}

/** Parses a client message; undefined where the venue would reject it. */
function parseSubscribeRequest(text: string): SubscribeRequest | undefined {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return undefined
  const fields = said as Readonly<Record<string, unknown>>
  const operation = operationOf(fields)
  const { assets_ids: assets, custom_feature_enabled: custom, initial_dump: dump } = fields
  if (operation === undefined || !isTexts(assets)) return undefined
  return {
    operation,
    assets: [...new Set(assets)],
    custom: typeof custom === 'boolean' ? custom : undefined,
    dump: dump !== false,
  }
}

// The first message names the channel, later ones an operation.
function operationOf({
  type,
  operation,
}: Readonly<Record<string, unknown>>): SubscribeRequest['operation'] | undefined {
  if (operation === 'subscribe' || operation === 'unsubscribe') return operation
  if (operation !== undefined || typeof type !== 'string') return undefined
  return type.toLowerCase() === 'market' ? 'subscribe' : undefined
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
