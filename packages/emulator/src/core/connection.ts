import { WebSocket } from 'ws'
import type { VenueId } from '@priorbook/sdk/domain'
import type { FaultBox } from '../faults/fault-box.ts'
import { malform } from '../faults/malform.ts'
import type { Random } from '../world/random.ts'
import { wallMicros, type Delivery, type Truth } from './truth.ts'
import type { Payload, Wire } from './upstream.ts'

/** The parts of a connection. */
export type ConnectionParts = {
  readonly id: string
  readonly venue: VenueId
  readonly faults: FaultBox
  readonly truth: Truth
  readonly random: Random
}

type Frame = {
  readonly text: string
  readonly payloads: readonly Payload[] | undefined
  /** When it was held back to follow its successor, in microseconds. */
  readonly held?: number
}

/** A frame and how it is to be delivered. */
type Fated = Frame & {
  readonly delivered: Delivery
  /** The corrupted text that is sent in its place. */
  readonly spoiled?: { readonly text: string; readonly variant: string }
}

/** Max unread bytes per client before it is cut, as the venues do. */
const MAX_BEHIND_BYTES = 64 * 1024 * 1024
/** How long a frame is held back for its successor at most. */
const HOLD_MS = 250

/** One client's socket, with the faults between the upstream and the wire. */
export class Connection implements Wire {
  readonly id: string
  private readonly venue: VenueId
  private readonly faults: FaultBox
  private readonly truth: Truth
  private readonly random: Random
  private readonly early: Frame[] = []
  private readonly late: (Fated & { readonly due: number })[] = []
  private socket: WebSocket | undefined
  private isFrozen = false
  private waiting: Frame | undefined
  private holdTimer: NodeJS.Timeout | undefined
  private lateTimer: NodeJS.Timeout | undefined

  constructor({ id, venue, faults, truth, random }: ConnectionParts) {
    this.id = id
    this.venue = venue
    this.faults = faults
    this.truth = truth
    this.random = random
  }

  /** Attaches the open socket and sends the frames queued so far. */
  attach(opened: WebSocket): void {
    this.socket = opened
    opened.on('close', () => this.lose('dropped'))
    for (const { text, payloads } of this.early.splice(0)) this.send(text, payloads)
  }

  send(text: string, payloads?: readonly Payload[]): void {
    const frame = { text, payloads }
    if (this.socket === undefined) this.early.push(frame)
    else if (this.isFrozen) this.note(frame, 'stalled')
    else if (
      this.faults.touches(this.venue) ||
      this.late.length > 0 ||
      this.waiting !== undefined
    ) {
      this.throughFaults(frame)
    } else this.put(frame, 'sent')
  }

  ping(body: string): void {
    if (this.socket?.readyState === WebSocket.OPEN && !this.isFrozen) this.socket.ping(body)
  }

  close(code: number, reason: string): void {
    if (!this.isFrozen) this.socket?.close(code, reason)
  }

  pending(): number {
    return this.socket?.bufferedAmount ?? 0
  }

  /** Stops reading, answering and closing. */
  freeze(): void {
    this.isFrozen = true
    this.lose('stalled')
    this.socket?.pause()
  }

  get frozen(): boolean {
    return this.isFrozen
  }

  /** Terminates the socket without a close frame. */
  cut(): void {
    this.socket?.terminate()
  }

  /** Sends an extra frame, bypassing the faults. */
  inject(text: string, delivered: Delivery): void {
    if (!this.isFrozen) this.put({ text, payloads: [] }, delivered)
  }

  /** Buffers frames into one write until `uncork`. */
  cork(): void {
    rawOf(this.socket)?.cork()
  }

  uncork(): void {
    rawOf(this.socket)?.uncork()
  }

  private put(frame: Frame, delivered: Delivery, text = frame.text, variant?: string): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return
    if (this.socket.bufferedAmount > MAX_BEHIND_BYTES) {
      this.socket.terminate()
      return
    }
    // Noted first: a process that is stopped between the two would note the frame after it has arrived.
    this.note(frame, delivered, text, variant)
    this.socket.send(text)
  }

  private note(frame: Frame, delivered: Delivery, text = frame.text, variant?: string): void {
    const { payloads, held: since } = frame
    if (!this.truth.wanted || (payloads === undefined && delivered === 'sent')) return
    const bytes = Buffer.byteLength(text)
    const event = {
      type: 'frame',
      venue: this.venue,
      connection: this.id,
      delivered,
      bytes,
    } as const
    const more = {
      ...(variant === undefined ? {} : { variant }),
      ...(since === undefined ? {} : { held: since }),
    }
    this.truth.note({ ...event, ...more, payloads: payloads ?? [] }, text)
  }

  /** Delivers a frame as decided, or logs that it was not. */
  private settle(frame: Fated): void {
    const { delivered, spoiled } = frame
    if (delivered === 'dropped' || delivered === 'stalled') this.note(frame, delivered)
    else this.put(frame, delivered, spoiled?.text, spoiled?.variant)
  }

  private release(): void {
    clearTimeout(this.holdTimer)
    const frame = this.waiting
    this.waiting = undefined
    if (frame === undefined) return
    if (this.late.length > 0) this.queue({ ...frame, delivered: 'reordered' }, 0)
    else this.put(frame, 'reordered')
  }

  // Delayed frames keep their order: none is delivered before an earlier one.
  private queue(frame: Fated, delayMs: number): void {
    const due = Math.max(performance.now() + delayMs, this.late.at(-1)?.due ?? 0)
    this.late.push({
      ...frame,
      due,
      delivered: frame.delivered === 'sent' ? 'delayed' : frame.delivered,
    })
    this.lateTimer ??= setTimeout(() => this.drain(), delayMs)
  }

  private drain(): void {
    this.lateTimer = undefined
    const now = performance.now()
    while (this.late.length > 0 && this.late[0]!.due <= now) this.settle(this.late.shift()!)
    if (this.late.length > 0)
      this.lateTimer = setTimeout(() => this.drain(), Math.max(1, this.late[0]!.due - now))
  }

  /** Logs every queued frame as undelivered. */
  private lose(delivered: 'dropped' | 'stalled'): void {
    clearTimeout(this.holdTimer)
    clearTimeout(this.lateTimer)
    this.lateTimer = undefined
    for (const frame of this.late.splice(0)) this.note(frame, delivered)
    if (this.waiting !== undefined) this.note(this.waiting, delivered)
    this.waiting = undefined
  }

  private throughFaults(frame: Frame): void {
    const { payloads } = frame
    const keys = payloads?.map((payload) => payload.key)
    const fated =
      payloads === undefined
        ? { ...frame, delivered: 'sent' as const }
        : this.meetFault(frame, keys)
    if (fated === undefined) return
    const slow = this.faults.strike('slow', this.venue, this.id, keys)
    if (slow !== undefined || this.late.length > 0) return this.queue(fated, slow?.delayMs ?? 0)
    this.settle(fated)
    if (payloads === undefined || fated.delivered !== 'sent') return
    if (this.faults.strike('duplicate', this.venue, this.id, keys)) this.put(frame, 'duplicated')
    this.release()
  }

  /** Decides the delivery of a frame; undefined while it is held back for its successor. */
  private meetFault(frame: Frame, keys: readonly string[] | undefined): Fated | undefined {
    if (this.faults.strike('stall', this.venue, this.id, keys))
      return { ...frame, delivered: 'stalled' }
    if (this.faults.strike('drop', this.venue, this.id, keys))
      return { ...frame, delivered: 'dropped' }
    const spoil = this.faults.strike('malformed', this.venue, this.id, keys)
    if (spoil !== undefined) {
      const spoiled = malform(frame.text, this.random, spoil.variant)
      return { ...frame, delivered: 'malformed', spoiled }
    }
    if (this.waiting === undefined && this.faults.strike('reorder', this.venue, this.id, keys)) {
      this.waiting = { ...frame, held: wallMicros() }
      this.holdTimer = setTimeout(() => this.release(), HOLD_MS)
      return undefined
    }
    return { ...frame, delivered: 'sent' }
  }
}

// ws writes the header and body of a frame separately; corking its stream joins a whole step into one write.
function rawOf(socket: WebSocket | undefined): (NodeJS.WritableStream & Corkable) | undefined {
  return (socket as { _socket?: NodeJS.WritableStream & Corkable } | undefined)?._socket
}

type Corkable = { cork(): void; uncork(): void }
