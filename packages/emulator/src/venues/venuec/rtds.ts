import type { Session, Wire, World, WorldEvent } from '../../core/upstream.ts'
import { ASSETS, type Asset } from '../../world/underlying.ts'
import { FEEDS, toDump, toUpdate, type Feed, type Tick } from './rtds-frames.ts'

/** The socket of prices (`ws-live-data`): topics of prices that rounds settle on. */
export interface Rtds {
  open(wire: Wire): Session
  onEvent(event: WorldEvent): void
  /** Called after every step of the world with the venue's clock. */
  onStep(at: number): void
}

/** Creates the socket of prices. */
export function createRtds(world: World, speed: number): Rtds {
  return new PriceSocket(world, periodOf(speed))
}

/** The nominal time between two prices, and the shortest real time: faster worlds send some of them. */
const PERIOD_MS = 1000
const SHORTEST_MS = 100
// A round of five minutes has 300 prices, or a number that divides it.
const SKIPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]

function periodOf(speed: number): number {
  const skip = SKIPS.find((many) => (many * PERIOD_MS) / speed >= SHORTEST_MS) ?? SKIPS.at(-1)!
  return (skip * PERIOD_MS) / speed
}

/** Prices that a new subscription gets of the past. */
const KEPT = 60

type Subscription = { readonly feed: Feed; readonly symbols: ReadonlySet<string> | undefined }
type Client = { readonly wire: Wire; subscriptions: readonly Subscription[] }

class PriceSocket implements Rtds {
  private readonly world: World
  private readonly periodMs: number
  private readonly clients = new Set<Client>()
  private readonly past = new Map<Asset, Tick[]>()
  /** Assets whose round began or ended in this step: it settles on the price of this step. */
  private readonly due = new Set<Asset>()
  private period = 0

  constructor(world: World, periodMs: number) {
    this.world = world
    this.periodMs = periodMs
  }

  open(wire: Wire): Session {
    const client: Client = { wire, subscriptions: [] }
    this.clients.add(client)
    wire.send('')
    return {
      onText: (text) => this.obey(client, text),
      onClose: () => void this.clients.delete(client),
    }
  }

  onEvent({ kind, proposition }: WorldEvent): void {
    const { phase, asset } = proposition
    // Only rounds have an underlying.
    if (kind !== 'phase' || asset === undefined) return
    if (phase === 'open' || phase === 'closed') this.due.add(asset)
  }

  onStep(at: number): void {
    const period = Math.floor(at / this.periodMs)
    const isDue = period > this.period
    this.period = period
    for (const asset of Object.keys(ASSETS) as Asset[]) {
      if (isDue || this.due.has(asset)) this.publish(asset, at)
    }
    this.due.clear()
  }

  private publish(asset: Asset, at: number): void {
    const past = this.past.get(asset) ?? []
    this.past.set(asset, past)
    const tick = { at, prices: this.pricesOf(asset) }
    past.push(tick)
    if (past.length > KEPT) past.shift()
    for (const feed of FEEDS) {
      const update = toUpdate(feed, asset, tick)
      for (const { wire, subscriptions } of this.clients) {
        if (subscriptions.some((one) => isMeant(one, feed, update.symbol))) {
          wire.send(update.text, [update.payload])
        }
      }
    }
  }

  private pricesOf(asset: Asset): ReadonlyMap<string, number> {
    const { world } = this
    const priceOf = ({ windowSeconds }: Feed): number =>
      windowSeconds === undefined ? world.price(asset) : world.average(asset, windowSeconds)
    return new Map(FEEDS.map((feed) => [feed.name, priceOf(feed)]))
  }

  private obey(client: Client, text: string): void {
    if (/^ping$/i.test(text)) {
      client.wire.send(text === 'ping' ? 'pong' : 'PONG')
      return
    }
    const command = parseCommand(text)
    if (command === undefined) return
    const { action, wanted } = command
    const unknown = wanted.find(({ feed }) => feed === undefined)
    if (unknown !== undefined) {
      // One topic that does not exist refuses all of the message.
      const message = `topic: ${unknown.topic} and type: ${unknown.type} not found`
      client.wire.send(JSON.stringify({ body: { message }, statusCode: 401 }))
      return
    }
    const named = wanted.map(({ feed, symbols }) => ({ feed: feed!, symbols }))
    const others = client.subscriptions.filter(
      (one) => !named.some(({ feed }) => feed === one.feed),
    )
    client.subscriptions = action === 'subscribe' ? [...client.subscriptions, ...named] : others
    if (action !== 'subscribe') return
    for (const { feed, symbols } of named) this.dump(client.wire, feed, symbols)
  }

  // What the venue sends of the past, only to those who name a symbol.
  private dump(wire: Wire, feed: Feed, symbols: ReadonlySet<string> | undefined): void {
    for (const [asset, past] of this.past) {
      const symbol = feed.symbolOf(asset)
      if (symbols?.has(symbol) === true) wire.send(toDump(feed, symbol, past, this.now()))
    }
  }

  private now(): number {
    return this.world.now('venuec')
  }
}

function isMeant({ feed, symbols }: Subscription, other: Feed, symbol: string): boolean {
  return feed === other && (symbols?.has(symbol) ?? true)
}

type Wanted = {
  readonly topic: string
  readonly type: string
  readonly feed: Feed | undefined
  readonly symbols: ReadonlySet<string> | undefined
}

function parseCommand(
  text: string,
): { readonly action: string; readonly wanted: readonly Wanted[] } | undefined {
  try {
    const { action, subscriptions } = JSON.parse(text) as {
      action: string
      subscriptions: readonly { topic: string; type: string; filters?: string }[]
    }
    const wanted = subscriptions.map(({ topic, type, filters = '' }) => ({
      topic,
      type,
      feed: FEEDS.find((one) => one.topic === topic && (type === 'update' || type === '*')),
      symbols: parseFilters(filters),
    }))
    return { action, wanted }
  } catch {
    return undefined
  }
}

// A JSON object with one symbol, or symbols with commas between them.
function parseFilters(filters: string): ReadonlySet<string> | undefined {
  if (filters === '') return undefined
  if (!filters.startsWith('{')) return new Set(filters.split(','))
  return new Set([(JSON.parse(filters) as { symbol: string }).symbol])
}
