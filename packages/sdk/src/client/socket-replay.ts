import type {
  MarketSelector,
  ReferenceSelector,
  StreamMessage,
  StreamStyle,
} from '../wire/index.ts'
import { PriorbookClientError } from './errors.ts'
import type { TimeInput } from './params.ts'
import { PriorbookStreamError, refusalOf, type StreamSocket } from './socket.ts'

/** What to replay and how fast. */
export type SocketReplayParams = StreamStyle & {
  readonly markets: readonly MarketSelector[]
  /** Reference prices that are played among the rows. */
  readonly references?: readonly ReferenceSelector[]
  readonly start_time: TimeInput
  readonly end_time: TimeInput
  /** Recorded pace × N, or as fast as the loop reads (the default). */
  readonly speed?: number | 'max'
}

/** A message of a replay. */
export type ReplayMessage = Extract<StreamMessage, { readonly replay?: string }>

// A WebSocket cannot read slower, so the client pauses the replay while this many messages wait.
const HIGH_WATER = 20_000
const LOW_WATER = 2000

/**
 * Recorded rows over the socket, merged over markets by received time. Ends after `finished`, with the
 * number of the rows checked, or after `stop`. One loop only: the rows come once.
 */
export class SocketReplay implements AsyncIterable<ReplayMessage> {
  private readonly open: () => Promise<StreamSocket>
  private readonly params: SocketReplayParams
  private readonly id = 'replay'
  private socket: StreamSocket | undefined
  private isPaused = false
  private isHeld = false
  private isPauseTold = false
  private isStopped = false

  constructor(open: () => Promise<StreamSocket>, params: SocketReplayParams) {
    this.open = open
    this.params = params
  }

  pause(): void {
    this.isPaused = true
    if (!this.isHeld) this.socket?.send({ op: 'pause', id: this.id })
  }

  resume(): void {
    this.isPaused = false
    if (!this.isHeld) this.socket?.send({ op: 'resume', id: this.id })
  }

  /** Continues from another time of the range. Rows sent before may still arrive. */
  seek(time: TimeInput): void {
    this.socket?.send({ op: 'seek', id: this.id, time: toWire(time) })
  }

  stop(): void {
    this.isStopped = true
    this.socket?.send({ op: 'stop', id: this.id })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplayMessage, void, undefined> {
    if (this.isStopped) return
    if (this.socket !== undefined) {
      throw new PriorbookClientError('invalid_option', 'a replay can be read once')
    }
    const socket = (this.socket = await this.open())
    const { start_time, end_time, speed = 'max', ...rest } = this.params
    socket.send({
      op: 'replay',
      id: this.id,
      ...rest,
      start_time: toWire(start_time),
      end_time: toWire(end_time),
      speed,
    })
    if (this.isPaused) this.pause()
    let received = 0
    try {
      for await (const message of socket) {
        this.steer(socket)
        if (message.type === 'error' && message.id === this.id) {
          const { code, message: detail, hint } = message
          throw new PriorbookStreamError(code, detail, { hint })
        }
        if (!('replay' in message) || message.replay !== this.id) continue
        if ('row' in message && 'id' in message.row) received++
        // Pauses for back-pressure are internal: callers do not see them.
        if (message.type === 'replay_state' && this.isOwnPause(message.state)) continue
        yield message
        if (message.type !== 'replay_state') continue
        if (message.state === 'finished') {
          verify(message, received)
          return
        }
        if (message.state === 'stopped') return
      }
    } finally {
      socket.close()
    }
    const end = socket.end!
    if (end.reason === 'closed') return
    const detail = `the replay broke off: ${end.reason}; start again from the last row's time`
    throw refusalOf(end) ?? new PriorbookClientError('network_failed', detail)
  }

  private steer(socket: StreamSocket): void {
    if (!this.isHeld && socket.waiting > HIGH_WATER) {
      this.isHeld = true
      if (!this.isPaused) socket.send({ op: 'pause', id: this.id })
    } else if (this.isHeld && socket.waiting < LOW_WATER) {
      this.isHeld = false
      if (!this.isPaused) socket.send({ op: 'resume', id: this.id })
    }
  }

  private isOwnPause(state: string): boolean {
    if (state !== 'paused' && state !== 'running') return false
    const isTold = state === 'paused' ? this.isPaused : this.isPauseTold
    this.isPauseTold = isTold && state === 'paused'
    return !isTold
  }
}

function verify(
  { rows }: Extract<StreamMessage, { readonly type: 'replay_state' }>,
  received: number,
): void {
  if (rows === undefined || received === rows) return
  const detail = `${received} rows arrived, ${rows} were sent`
  throw new PriorbookClientError('incomplete_replay', detail)
}

function toWire(time: TimeInput): string | number {
  return time instanceof Date ? time.toISOString() : time
}
