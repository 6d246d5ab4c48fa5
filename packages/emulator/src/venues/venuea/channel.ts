import type { Payload, Session, Wire, WorldEvent } from '../../core/upstream.ts'
import { toPairs } from './ladder.ts'
import type { Memory } from './memory.ts'
import type { Round, Rounds } from './rounds.ts'

/** The socket side of the venue: whole books of the markets that trade. */
export interface Channel {
  /** Admits a client with the topics of its url, joined by `|`. */
  open(wire: Wire, topics: string): Session
  onEvent(event: WorldEvent): void
}

/** The topic that carries every market that trades. */
const AGGREGATED_TOPIC = 'web3_prediction_orderbook_data'

/** The topic of one market; the venue accepts a topic with an unknown id and never pushes to it. */
function topicOf(marketId: number): string {
  return `web3_prediction_orderbook_${marketId}`
}

/** Max books pushed per second and market at speed 1: the highest rate measured. */
const PUSHES_PER_SECOND = 8

type Client = { readonly wire: Wire; readonly topics: Set<string> }

/** Creates the socket side. Its time is that of the events, so it needs no timers. */
export function createChannel(rounds: Rounds, memory: Memory, speed: number): Channel {
  return new BookChannel(rounds, memory, speed)
}

class BookChannel implements Channel {
  private readonly rounds: Rounds
  private readonly memory: Memory
  private readonly spacingMs: number
  private readonly clients = new Set<Client>()
  private readonly waiting = new Set<Round>()
  private readonly pushedAt = new WeakMap<Round, number>()

  constructor(rounds: Rounds, memory: Memory, speed: number) {
    this.rounds = rounds
    this.memory = memory
    this.spacingMs = 1000 / (PUSHES_PER_SECOND * speed)
  }

  open(wire: Wire, topics: string): Session {
    const client: Client = { wire, topics: new Set() }
    this.clients.add(client)
    this.subscribe(client, topics)
    return {
      onText: (text) => this.obey(client, text),
      onClose: () => void this.clients.delete(client),
    }
  }

  onEvent({ kind, at, proposition }: WorldEvent): void {
    if (kind === 'book') this.waiting.add(this.rounds.of(proposition))
    this.flush(at)
  }

  // A market pushes again after its spacing, or at once when the clock was set back.
  private mayPush(round: Round, at: number): boolean {
    const last = this.pushedAt.get(round)
    return last === undefined || at < last || at - last >= this.spacingMs
  }

  private flush(at: number): void {
    for (const round of this.waiting) {
      if (round.proposition.phase !== 'open') this.waiting.delete(round)
      else if (this.mayPush(round, at)) {
        this.waiting.delete(round)
        this.pushedAt.set(round, at)
        this.push(round)
      }
    }
  }

  private push(round: Round): void {
    let data: string | undefined
    const own = topicOf(round.marketId)
    for (const { wire, topics } of this.clients) {
      for (const topic of [own, AGGREGATED_TOPIC]) {
        if (!topics.has(topic)) continue
        data ??= dataOf(round, this.memory)
        wire.send(JSON.stringify({ type: 'TOPIC', topic, data }), claim(round))
      }
    }
  }

  private roundsOf(topic: string): readonly Round[] {
    if (topic === AGGREGATED_TOPIC) return this.rounds.all()
    const marketId = /^web3_prediction_orderbook_(\d{1,15})$/.exec(topic)?.[1]
    const round = marketId === undefined ? undefined : this.rounds.byMarket(Number(marketId))
    return round === undefined ? [] : [round]
  }

  /** The first push of a subscription; the venue never pushes empty ladders unasked. */
  private greet({ wire }: Client, topic: string): void {
    for (const round of this.roundsOf(topic)) {
      const { phase, book } = round.proposition
      if (phase !== 'open' || book.bids.length + book.asks.length === 0) continue
      const frame = { type: 'TOPIC', topic, data: dataOf(round, this.memory) }
      wire.send(JSON.stringify(frame), claim(round))
    }
  }

  private subscribe(client: Client, value: string): void {
    for (const topic of split(value)) {
      if (client.topics.has(topic)) continue
      client.topics.add(topic)
      this.greet(client, topic)
    }
  }

  private obey(client: Client, text: string): void {
    const { command, value } = parseCommand(text)
    if (command === undefined || value === undefined) {
      client.wire.send(ack('FAIL', command ?? '', '-1'))
      return
    }
    client.wire.send(ack('SUCCESS', command, '00000000'))
    if (command === 'SUBSCRIBE') this.subscribe(client, value)
    else for (const topic of split(value)) client.topics.delete(topic)
  }
}

function dataOf({ marketId, proposition }: Round, memory: Memory): string {
  const { book } = proposition
  return JSON.stringify({
    msgType: 'orderbook',
    marketId,
    updateTimestampMs: memory.changedAt(proposition),
    asks: toPairs(book.asks),
    bids: toPairs(book.bids),
  })
}

function claim({ marketId, proposition }: Round): Payload[] {
  return [{ kind: 'full', key: String(marketId), book: proposition.book }]
}

function ack(data: 'SUCCESS' | 'FAIL', subType: string, code: string): string {
  return JSON.stringify({ type: 'COMMAND', data, subType, code })
}

function split(topics: string): string[] {
  return topics.split('|').filter((topic) => topic !== '')
}

type Command = { readonly command?: 'SUBSCRIBE' | 'UNSUBSCRIBE'; readonly value?: string }

function parseCommand(text: string): Command {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return {}
  }
  if (typeof said !== 'object' || said === null) return {}
  const { command, value } = said as { command?: unknown; value?: unknown }
  if (command !== 'SUBSCRIBE' && command !== 'UNSUBSCRIBE') return {}
  return typeof value === 'string' ? { command, value } : { command }
}
