import { STREAM_MESSAGE_SCHEMAS, type StreamMessage, type StreamRequest } from '@priorbook/sdk/wire'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { violations } from '../pages/schema.testing.ts'

// How long to wait for a message, also on a busy machine.
const PATIENCE_MS = 20_000
// Messages of each type that are validated against the schema.
const COMPARED = 3

/** A message with any members. */
export type AnyMessage = StreamMessage & Readonly<Record<string, unknown>>

/** A client of the stream that keeps all messages. */
export class StreamClient {
  readonly socket: WebSocket
  readonly messages: AnyMessage[] = []
  closed: { readonly code: number; readonly reason: string } | undefined
  private wake: (() => void)[] = []
  private returned = 0
  private isLate = false
  private broken: string | undefined
  private readonly compared = new Map<string, number>()

  constructor(url: string, options: { readonly key?: string; readonly protocols?: string[] } = {}) {
    const { key, protocols = [] } = options
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    this.socket = new WebSocket(url, protocols, { headers })
    this.socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as AnyMessage
      this.compare(message)
      this.messages.push(message)
      this.wakeAll()
    })
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.wakeAll()
    })
    this.socket.on('open', () => this.wakeAll())
    this.socket.on('error', () => this.wakeAll())
    onTestFinished(() => this.socket.terminate())
  }

  /** Waits for the socket to open. */
  async open(): Promise<this> {
    await this.until(() => this.socket.readyState !== WebSocket.CONNECTING)
    return this
  }

  send(request: StreamRequest | object): void {
    this.socket.send(JSON.stringify(request))
  }

  /** The next message of a type after the ones already returned; throws on an `error` message. */
  async next(type: string): Promise<AnyMessage> {
    let found: AnyMessage | undefined
    await this.until(() => {
      while (this.returned < this.messages.length && found === undefined) {
        const message = this.messages[this.returned++]!
        if (message.type === type) found = message
        else if (message.type === 'error') throw new Error(JSON.stringify(message))
      }
      return found !== undefined || this.closed !== undefined
    })
    if (found === undefined) throw new Error(`closed ${this.closed?.code} before ${type}`)
    return found
  }

  /** Waits until a condition holds; it is checked with every message. */
  async until(holds: () => boolean): Promise<void> {
    const late = setTimeout(() => {
      this.isLate = true
      this.wakeAll()
    }, PATIENCE_MS)
    try {
      while (!holds()) {
        if (this.broken !== undefined) throw new Error(this.broken)
        if (this.isLate) throw new Error(`no message since ${JSON.stringify(this.messages.at(-1))}`)
        await new Promise<void>((resolve) => this.wake.push(resolve))
      }
    } finally {
      clearTimeout(late)
    }
  }

  async close(): Promise<{ readonly code: number; readonly reason: string }> {
    await this.until(() => this.closed !== undefined)
    return this.closed!
  }

  // Validates the first few messages of each type against the schema.
  private compare(message: AnyMessage): void {
    const count = this.compared.get(message.type) ?? 0
    this.compared.set(message.type, count + 1)
    if (count >= COMPARED) return
    const wrong = violations(STREAM_MESSAGE_SCHEMAS[message.type], message)
    if (wrong.length > 0) this.broken ??= `${message.type}: ${wrong.join(', ')}`
  }

  private wakeAll(): void {
    const { wake } = this
    this.wake = []
    for (const resolve of wake) resolve()
  }
}
