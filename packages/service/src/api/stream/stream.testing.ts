import { STREAM_MESSAGE_SCHEMAS, type StreamMessage, type StreamRequest } from '@priorbook/sdk/wire'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { violations } from '../catalogue/schema.testing.ts'

// Enough for a machine that has much else to do.
const PATIENCE_MS = 20_000
const COMPARED = 3

/** Any member of any message. */
export type AnyMessage = StreamMessage & Readonly<Record<string, unknown>>

/** A client of the stream that keeps everything it hears. */
export class StreamClient {
  readonly socket: WebSocket
  readonly messages: AnyMessage[] = []
  closed: { readonly code: number; readonly reason: string } | undefined
  private wake: (() => void)[] = []
  private taken = 0
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
      this.stir()
    })
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.stir()
    })
    this.socket.on('open', () => this.stir())
    this.socket.on('error', () => this.stir())
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

  /** The next message of a type behind those that were taken. */
  async next(type: string): Promise<AnyMessage> {
    let found: AnyMessage | undefined
    await this.until(() => {
      while (this.taken < this.messages.length && found === undefined) {
        const message = this.messages[this.taken++]!
        if (message.type === type) found = message
        else if (message.type === 'error') throw new Error(JSON.stringify(message))
      }
      return found !== undefined || this.closed !== undefined
    })
    if (found === undefined) throw new Error(`closed ${this.closed?.code} before ${type}`)
    return found
  }

  /** Waits until something holds; looked at with every message. */
  async until(holds: () => boolean): Promise<void> {
    const late = setTimeout(() => {
      this.isLate = true
      this.stir()
    }, PATIENCE_MS)
    try {
      while (!holds()) {
        if (this.broken !== undefined) throw new Error(this.broken)
        if (this.isLate) throw new Error(`nothing since ${JSON.stringify(this.messages.at(-1))}`)
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

  // The first few of every type are compared with what the document promises.
  private compare(message: AnyMessage): void {
    const count = this.compared.get(message.type) ?? 0
    this.compared.set(message.type, count + 1)
    if (count >= COMPARED) return
    const wrong = violations(STREAM_MESSAGE_SCHEMAS[message.type], message)
    if (wrong.length > 0) this.broken ??= `${message.type}: ${wrong.join(', ')}`
  }

  private stir(): void {
    const { wake } = this
    this.wake = []
    for (const resolve of wake) resolve()
  }
}
