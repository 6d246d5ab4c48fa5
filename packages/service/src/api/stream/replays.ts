import type { StreamRequest } from '@priorbook/sdk/wire'
import type { PlanGrant } from '../auth/grant.ts'
import { openReplay, type Player, type ReplayOutput } from '../replay/player.ts'
import type { ClientOutput } from './client-output.ts'
import { toFrame } from './frame.ts'
import { readId, type RawRequest, StreamProblem } from './request.ts'
import type { SessionServices } from './services.ts'

/** The replays of one connection. */
export class Replays {
  private readonly services: SessionServices
  private readonly output: ClientOutput
  private readonly running = new Map<string, Player>()
  private readonly opening = new Set<string>()
  private isClosed = false
  private willFlush = false

  constructor(services: SessionServices, output: ClientOutput) {
    this.services = services
    this.output = output
  }

  has(id: string): boolean {
    return this.running.has(id) || this.opening.has(id)
  }

  /** Starts a replay; throws `Problem` or `StreamProblem`. */
  async start(request: RawRequest, grant: PlanGrant): Promise<void> {
    const id = readId(request)
    const { context, clock } = this.services
    const most = grant.terms.stream.replays
    if (this.running.size >= most) {
      const detail = `more replays of one connection than the plan ${grant.plan} allows: ${most}`
      throw new StreamProblem('too_many_replays', detail)
    }
    this.opening.add(id)
    try {
      // The replay validates the members itself.
      const message = request as unknown as Extract<StreamRequest, { op: 'replay' }>
      const replay = await openReplay(context, grant, message, this.toOutput(), clock)
      this.running.set(id, replay)
      void replay.ended.then(() => {
        this.running.delete(id)
        if (replay.failure !== undefined) this.output.logError(replay.failure)
      })
      if (this.isClosed) replay.stop()
    } finally {
      this.opening.delete(id)
    }
  }

  /** The replay that a request names; throws `unknown_id`. */
  get(request: RawRequest): Player {
    const replay = this.running.get(readId(request))
    if (replay === undefined) throw new StreamProblem('unknown_id')
    return replay
  }

  /** Stops all replays. */
  close(): void {
    this.isClosed = true
    for (const replay of this.running.values()) replay.stop()
  }

  private toOutput(): ReplayOutput {
    const { subscriber } = this.output
    return {
      send: (message) => {
        subscriber.send(toFrame(message))
        subscriber.rows++
        this.flushSoon()
        return !subscriber.isFull
      },
      drained: () => subscriber.room(),
    }
  }

  // Messages of one turn of the event loop leave together.
  private flushSoon(): void {
    if (this.willFlush) return
    this.willFlush = true
    setImmediate(() => {
      this.willFlush = false
      this.output.subscriber.flush()
    })
  }
}
