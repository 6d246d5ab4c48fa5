import type { StreamMessage, StreamRequest } from '@priorbook/sdk/wire'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'

// Enough for a machine that has much else to do.
const PATIENCE_MS = 20_000

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

  constructor(url: string, options: { readonly key?: string; readonly protocols?: string[] } = {}) {
    const { key, protocols = [] } = options
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    this.socket = new WebSocket(url, protocols, { headers })
    this.socket.on('message', (data: Buffer) => {
      this.messages.push(JSON.parse(data.toString()) as AnyMessage)
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

  private stir(): void {
    const { wake } = this
    this.wake = []
    for (const resolve of wake) resolve()
  }
}
