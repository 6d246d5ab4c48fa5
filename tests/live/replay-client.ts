import { WebSocket } from 'ws'

/** A message of the stream as the tests look at it, and when it came by the monotonic clock. */
export type StreamSeen = {
  readonly type: string
  readonly text: string
  readonly cameMs: number
  readonly replay?: string
  readonly state?: string
  readonly time?: string
  readonly key?: string
  readonly sequence?: number
  readonly previous_sequence?: number | null
  readonly row?: Readonly<Record<string, unknown>>
  readonly gap?: Readonly<Record<string, unknown>>
  readonly rows?: number
  readonly ids_sha256?: string
  readonly code?: string
  readonly id?: string
}

/** One socket with everything that came over it. */
export class StreamClient {
  readonly messages: StreamSeen[] = []
  private readonly socket: WebSocket
  private waiting: {
    readonly isIt: (seen: StreamSeen) => boolean
    readonly found: (seen: StreamSeen) => void
  }[] = []

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer) => this.take(data.toString()))
  }

  /** Connects with a key in the header. */
  static async open(url: string, key: string): Promise<StreamClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v3/stream`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const client = new StreamClient(socket)
    await new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    return client
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message))
  }

  /** The first message, past or to come, that is the one. */
  until(isIt: (seen: StreamSeen) => boolean): Promise<StreamSeen> {
    const known = this.messages.find(isIt)
    if (known !== undefined) return Promise.resolve(known)
    return new Promise((found) => {
      this.waiting.push({ isIt, found })
    })
  }

  /** What a replay sent, its states aside. */
  of(replay: string): StreamSeen[] {
    return this.messages.filter((seen) => seen.replay === replay && seen.type !== 'replay_state')
  }

  /** Plays a replay to its end and gives its last message. */
  async play(request: object & { readonly id: string }): Promise<StreamSeen> {
    this.send({ op: 'replay', ...request })
    const end = await this.until(
      ({ replay, id, type, state }) =>
        (replay === request.id && (state === 'finished' || state === 'stopped')) ||
        (type === 'error' && id === request.id),
    )
    if (end.state !== 'finished') throw new Error(end.text)
    return end
  }

  /** Stops reading, and reads on. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  close(): void {
    this.socket.terminate()
  }

  private take(text: string): void {
    const seen = Object.assign(JSON.parse(text) as StreamSeen, { text, cameMs: performance.now() })
    this.messages.push(seen)
    const { waiting } = this
    this.waiting = waiting.filter(({ isIt, found }) => {
      if (!isIt(seen)) return true
      found(seen)
      return false
    })
  }
}

/** The text of a message's row, byte for byte. */
export function rowText({ text }: StreamSeen): string {
  return text.slice(text.indexOf(',"row":{') + 7, -1)
}
