import type { Socket } from 'node:net'
import type { StreamMessage } from '@priorbook/sdk/wire'
import type { Sink, Subscriber } from '../../live/subscriber.ts'
import { redactKeys } from '../auth/key-text.ts'
import type { RequestLog } from '../http/log.ts'
import { toProblem } from '../http/problem.ts'
import { toFrame } from './frame.ts'
import { StreamProblem } from './request.ts'

/** What a session sends to its client, and what it logs. */
export class ClientOutput {
  readonly subscriber: Subscriber
  private readonly connection: string
  private readonly sink: Sink
  private readonly log: RequestLog | undefined

  constructor(connection: string, subscriber: Subscriber, sink: Sink, log: RequestLog | undefined) {
    this.connection = connection
    this.subscriber = subscriber
    this.sink = sink
    this.log = log
  }

  /** Queues a message. */
  send(message: StreamMessage): void {
    this.subscriber.send(toFrame(JSON.stringify(message)))
  }

  /** Sends an `error` message; unexpected errors are logged and not described to the client. */
  sendError(error: unknown, id?: string): void {
    const message = toErrorMessage(error, id)
    if (message === undefined) this.logError(error)
    const text =
      message ??
      JSON.stringify({ type: 'error', code: 'internal_error', message: 'it has been logged', id })
    this.subscriber.send(toFrame(text))
    this.subscriber.flush()
  }

  /** Sends the error that ends the connection, also to a reader whose queue was dropped. */
  sendLastError(error: unknown): void {
    if (!this.subscriber.isClosed) {
      this.sendError(error)
      return
    }
    const message = toErrorMessage(error)
    if (message !== undefined) this.sink.write(toFrame(message))
  }

  logError(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.log?.error({ id: this.connection, error: redactKeys(text) }, 'stream failed')
  }
}

/** Writes frames straight to a socket: frames for many clients are encoded once, not once per client. */
export class SocketSink implements Sink {
  private readonly socket: Socket

  constructor(socket: Socket) {
    this.socket = socket
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  cork(): void {
    this.socket.cork()
  }

  uncork(): void {
    this.socket.uncork()
  }

  get buffered(): number {
    return this.socket.writableLength
  }

  get left(): number {
    return this.socket.bytesWritten - this.socket.writableLength
  }
}

/** The `error` message for an expected error, with keys redacted; undefined for an unexpected one. */
function toErrorMessage(error: unknown, id?: string): string | undefined {
  const problem = error instanceof StreamProblem ? error : toProblem(error)
  if (problem === undefined) return undefined
  const { code, message } = problem
  const { hint, param, allowed, plan } = problem.fields
  return redactKeys(
    JSON.stringify({ type: 'error', code, message, id, hint, param, allowed, plan }),
  )
}
