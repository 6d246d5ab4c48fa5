import { WebSocket } from 'ws'
import type { VenueId } from '@priorbook/sdk/domain'
import type { FaultBox } from '../faults/fault-box.ts'
import { malform } from '../faults/malform.ts'
import type { Random } from '../world/random.ts'
import { wallMicros } from './clock.ts'
import type { Delivery, Truth } from './truth.ts'
import type { Payload, Wire } from './upstream.ts'

/** One client's socket, with the faults between the upstream and the wire. */
export interface Connection extends Wire {
  readonly id: string
  /** Takes the socket once it is open; what was said before goes out now. */
  attach(socket: WebSocket): void
  /** From now on it neither answers nor closes. */
  freeze(): void
  readonly frozen: boolean
  /** Ends at once without a word. */
  cut(): void
  /** Puts this on the wire beside everything else. */
  inject(text: string, delivered: Delivery): void
  /** Gathers frames into one write until `uncork`. */
  cork(): void
  uncork(): void
}

/** What a connection works with. */
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
  /** Since when it waits for a successor. */
  readonly held?: number
}

/** A frame and what becomes of it when its turn comes. */
type Fated = Frame & {
  readonly delivered: Delivery
  /** What goes out in its place. */
  readonly spoiled?: { readonly text: string; readonly variant: string }
}

/** A client that is this far behind is cut, as the venues do. */
const MAX_BEHIND_BYTES = 64 * 1024 * 1024
/** A frame that waits for a successor waits no longer than this. */
const HOLD_MS = 250

/** Creates the near end of a socket that is about to open. */
export function createConnection(parts: ConnectionParts): Connection {
  const { id, venue, faults, truth, random } = parts
  const early: Frame[] = []
  const late: (Fated & { readonly due: number })[] = []
  let socket: WebSocket | undefined
  let frozen = false
  let held: Frame | undefined
  let holdTimer: NodeJS.Timeout | undefined
  let lateTimer: NodeJS.Timeout | undefined

  function put(frame: Frame, delivered: Delivery, text = frame.text, variant?: string): void {
    if (socket?.readyState !== WebSocket.OPEN) return
    if (socket.bufferedAmount > MAX_BEHIND_BYTES) {
      socket.terminate()
      return
    }
    socket.send(text)
    note(frame, delivered, text, variant)
  }

  function note(frame: Frame, delivered: Delivery, text = frame.text, variant?: string): void {
    const { payloads, held: since } = frame
    if (!truth.wanted || (payloads === undefined && delivered === 'sent')) return
    const bytes = Buffer.byteLength(text)
    const event = { type: 'frame', venue, connection: id, delivered, bytes } as const
    const more = {
      ...(variant === undefined ? {} : { variant }),
      ...(since === undefined ? {} : { held: since }),
    }
    truth.note({ ...event, ...more, payloads: payloads ?? [] }, text)
  }

  /** Lets a frame meet its fate. */
  function settle(frame: Fated): void {
    const { delivered, spoiled } = frame
    if (delivered === 'dropped' || delivered === 'stalled') note(frame, delivered)
    else put(frame, delivered, spoiled?.text, spoiled?.variant)
  }

  function release(): void {
    clearTimeout(holdTimer)
    const frame = held
    held = undefined
    if (frame === undefined) return
    if (late.length > 0) queue({ ...frame, delivered: 'reordered' }, 0)
    else put(frame, 'reordered')
  }

  // Whatever becomes of a frame, it becomes of it after those before it: slow keeps the order.
  function queue(frame: Fated, delayMs: number): void {
    const due = Math.max(performance.now() + delayMs, late.at(-1)?.due ?? 0)
    late.push({
      ...frame,
      due,
      delivered: frame.delivered === 'sent' ? 'delayed' : frame.delivered,
    })
    lateTimer ??= setTimeout(drain, delayMs)
  }

  function drain(): void {
    lateTimer = undefined
    const now = performance.now()
    while (late.length > 0 && late[0]!.due <= now) settle(late.shift()!)
    if (late.length > 0) lateTimer = setTimeout(drain, Math.max(1, late[0]!.due - now))
  }

  /** What waits is never put on the wire. */
  function lose(delivered: 'dropped' | 'stalled'): void {
    clearTimeout(holdTimer)
    clearTimeout(lateTimer)
    lateTimer = undefined
    for (const frame of late.splice(0)) note(frame, delivered)
    if (held !== undefined) note(held, delivered)
    held = undefined
  }

  function throughFaults(frame: Frame): void {
    const { payloads } = frame
    const keys = payloads?.map((payload) => payload.key)
    const fated =
      payloads === undefined ? { ...frame, delivered: 'sent' as const } : meetFault(frame, keys)
    if (fated === undefined) return
    const slow = faults.strike('slow', venue, id, keys)
    if (slow !== undefined || late.length > 0) return queue(fated, slow?.delayMs ?? 0)
    settle(fated)
    if (payloads === undefined || fated.delivered !== 'sent') return
    if (faults.strike('duplicate', venue, id, keys)) put(frame, 'duplicated')
    release()
  }

  /** Nothing for a frame that waits for its successor. */
  function meetFault(frame: Frame, keys: readonly string[] | undefined): Fated | undefined {
    if (faults.strike('stall', venue, id, keys)) return { ...frame, delivered: 'stalled' }
    if (faults.strike('drop', venue, id, keys)) return { ...frame, delivered: 'dropped' }
    const spoil = faults.strike('malformed', venue, id, keys)
    if (spoil !== undefined) {
      const spoiled = malform(frame.text, random, spoil.variant)
      return { ...frame, delivered: 'malformed', spoiled }
    }
    if (held === undefined && faults.strike('reorder', venue, id, keys)) {
      held = { ...frame, held: wallMicros() }
      holdTimer = setTimeout(release, HOLD_MS)
      return undefined
    }
    return { ...frame, delivered: 'sent' }
  }

  return {
    id,
    attach(opened) {
      socket = opened
      opened.on('close', () => lose('dropped'))
      for (const { text, payloads } of early.splice(0)) this.send(text, payloads)
    },
    send(text, payloads) {
      const frame = { text, payloads }
      if (socket === undefined) early.push(frame)
      else if (frozen) note(frame, 'stalled')
      else if (faults.touches(venue) || late.length > 0 || held !== undefined) throughFaults(frame)
      else put(frame, 'sent')
    },
    ping(body) {
      if (socket?.readyState === WebSocket.OPEN && !frozen) socket.ping(body)
    },
    close(code, reason) {
      if (!frozen) socket?.close(code, reason)
    },
    pending: () => socket?.bufferedAmount ?? 0,
    freeze() {
      frozen = true
      lose('stalled')
      socket?.pause()
    },
    get frozen() {
      return frozen
    },
    cut() {
      socket?.terminate()
    },
    inject(text, delivered) {
      if (!frozen) put({ text, payloads: [] }, delivered)
    },
    cork() {
      rawOf(socket)?.cork()
    },
    uncork() {
      rawOf(socket)?.uncork()
    },
  }
}

// ws writes header and body of each frame apart; corking its stream makes one write of a whole step.
function rawOf(socket: WebSocket | undefined): (NodeJS.WritableStream & Corkable) | undefined {
  return (socket as { _socket?: NodeJS.WritableStream & Corkable } | undefined)?._socket
}

type Corkable = { cork(): void; uncork(): void }
