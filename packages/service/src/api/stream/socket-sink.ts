import type { Socket } from 'node:net'
import type { Sink } from '../../live/index.ts'

/** Writes frames straight to a socket: what many readers get is framed once, not once a reader. */
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
