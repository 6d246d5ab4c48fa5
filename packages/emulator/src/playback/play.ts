import { setTimeout as sleep } from 'node:timers/promises'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { SocketProtocol } from '../core/emulated-venue.ts'
import { startServer } from '../core/server.ts'
import { openTruth, type Truth, type TruthOptions } from '../core/truth.ts'
import type { Session, Upstream, Wire } from '../core/upstream.ts'
import { createFaultBox } from '../faults/fault-box.ts'
import type { Injection } from '../faults/fault.ts'
import { emulatedVenue } from '../venues/registry.ts'
import { createRandom } from '../world/random.ts'
import {
  readFrames,
  readLines,
  type PlaybackProblem,
  type Played,
  type Source,
} from './recordings.ts'

/** The recording to play, and how. */
export type PlaybackOptions = {
  readonly venue: VenueId
  /** Recordings of venue B, `.ndjson` or `.ndjson.gz`. */
  readonly files?: readonly string[]
  /** The journal folder of a data folder; every venue. */
  readonly journal?: string
  /** Multiple of the recorded pace; Infinity plays as fast as the client reads. 1 by default. */
  readonly speed?: number
  /** Max pause between two frames; longer ones are shortened. */
  readonly maxSilenceMs?: number
  /** `apart`: each recorded socket goes to its own client, in order of connecting; `joined`: all to one. */
  readonly slots?: 'apart' | 'joined'
  readonly port?: number
  readonly logFile?: string
  readonly log?: TruthOptions
}

/** A recording that plays as soon as a client has connected and subscribed. */
export interface Playback {
  readonly ws: string
  readonly truth: Truth
  /** Frames put on the wire so far. */
  readonly sent: number
  readonly problems: readonly PlaybackProblem[]
  /** Resolves when everything was sent, or when it was closed before. */
  readonly done: Promise<void>
  inject(injection: Injection): string
  close(): Promise<void>
}

type Client = { readonly wire: Wire; ready: boolean; gone: boolean; slot: number | undefined }

/** Opens a loopback port on which the recording plays: bytes, sid and seq as recorded. */
export async function playRecording(options: PlaybackOptions): Promise<Playback> {
  const { speed = 1, logFile, log } = options
  if (!(speed > 0)) throw new PriorbookError('invalid_argument', `speed ${speed} is not above 0`)
  const truth = openTruth({ ...(logFile === undefined ? {} : { file: logFile }), ...log })
  const random = createRandom('playback')
  const player = new Player(options)
  const faults = createFaultBox(random, {
    begun: (fault) => server.begin(fault),
    ended: (fault) => server.end(fault),
  })
  const server = await startServer({
    upstream: player.upstream,
    refusal: emulatedVenue(options.venue).refusal,
    world: {
      now: () => Date.now(),
      price: () => 0,
      average: () => 0,
      propositions: () => [],
      hex: () => '',
    },
    speed: 1,
    port: options.port ?? 0,
    faults,
    truth,
    random,
  })
  const done = player.run()
  return {
    ws: `${server.origin.replace('http', 'ws')}${player.path}`,
    truth,
    problems: player.problems,
    done,
    get sent() {
      return player.sent
    },
    inject: (injection) => faults.begin(injection).id,
    async close() {
      player.stop()
      faults.close()
      await done
      await server.close()
      truth.close()
    },
  }
}

/** Sends the frames of a recording to the clients of one venue. */
class Player {
  readonly problems: PlaybackProblem[] = []
  sent = 0
  private readonly options: PlaybackOptions
  private readonly protocol: SocketProtocol
  private readonly clients = new Set<Client>()
  private readonly ending = new AbortController()
  private unslept = 0
  private wake: () => void = () => {}

  constructor(options: PlaybackOptions) {
    this.options = options
    this.protocol = emulatedVenue(options.venue).socket
  }

  get path(): string {
    return this.protocol.path
  }

  get upstream(): Upstream {
    return {
      venue: this.options.venue,
      quotas: {},
      answer: () => ({ status: 404, body: '{"message":"a recording has frames alone"}' }),
      accept: ({ path }, wire) =>
        path === this.path ? this.admit(wire) : { status: 404, body: '{}' },
      onEvent: () => {},
      keys: () => [],
    }
  }

  async run(): Promise<void> {
    const { options, ending, problems } = this
    const pace = createPace(options.speed ?? 1, options.maxSilenceMs ?? Infinity)
    const fed = new Map<number, Client>()
    for await (const played of sourceOf(options, (problem) => problems.push(problem))) {
      if (ending.signal.aborted) return
      const { slot } = played
      if (played.kind === 'connected') {
        const before = fed.get(slot)
        if (before === undefined) continue
        before.wire.close(1001, 'recorded reconnect')
        this.clients.delete(before)
        fed.delete(slot)
        continue
      }
      let client = fed.get(slot)
      if (client === undefined || client.gone) {
        const asked = performance.now()
        client = await this.clientOf(slot)
        if (client === undefined) return
        fed.set(slot, client)
        pace.hold(performance.now() - asked)
      }
      await this.send(client, played.text, pace.waitFor(played))
    }
  }

  /** Ends the run before the recording does. */
  stop(): void {
    this.ending.abort()
    this.wake()
  }

  private admit(wire: Wire): Session {
    const { protocol, clients } = this
    const client: Client = {
      wire,
      ready: protocol.begins === undefined,
      gone: false,
      slot: undefined,
    }
    clients.add(client)
    this.wake()
    return {
      onText: (text) => {
        for (const reply of protocol.replies(text)) wire.send(reply)
        if (protocol.begins?.(text) !== true) return
        client.ready = true
        this.wake()
      },
      onClose: () => {
        client.gone = true
        clients.delete(client)
        this.wake()
      },
    }
  }

  /** The client of a slot; waits for one to connect where there is none yet. */
  private async clientOf(slot: number): Promise<Client | undefined> {
    while (!this.ending.signal.aborted) {
      const wanted = this.options.slots === 'joined' ? undefined : slot
      const all = [...this.clients].filter(({ ready }) => ready)
      const found =
        all.find((client) => wanted === undefined || client.slot === wanted) ??
        all.find((client) => client.slot === undefined)
      if (found !== undefined) {
        found.slot = wanted
        return found
      }
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
    return undefined
  }

  private async send(client: Client, text: string, waitMs: number): Promise<void> {
    const { signal } = this.ending
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {})
    else if (++this.unslept % YIELD_EVERY === 0) await sleep(0)
    while ((client.wire.pending?.() ?? 0) > MAX_PENDING_BYTES && !client.gone) await sleep(1)
    client.wire.send(text, [])
    this.sent++
  }
}

/** Max frames per turn of the event loop, so that client messages are read in between. */
const YIELD_EVERY = 64
/** Max bytes unread by a client before the player waits for it. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024

function sourceOf(
  { files, journal, venue }: PlaybackOptions,
  onProblem: (problem: PlaybackProblem) => void,
): Source {
  if (journal !== undefined) return readFrames(journal, venue, onProblem)
  if (venue !== 'venueb') {
    throw new PriorbookError('invalid_argument', 'recordings in lines exist of venue B alone')
  }
  return readLines(files ?? [], onProblem)
}

/** Turns recorded times into times to wait. */
function createPace(
  speed: number,
  maxSilenceMs: number,
): { waitFor(played: Played): number; hold(ms: number): void } {
  let due = performance.now()
  let last: number | undefined
  return {
    waitFor({ at }) {
      if (last === undefined) due = performance.now()
      const passed = Math.max(0, at - (last ?? at)) / 1000
      last = Math.max(at, last ?? 0)
      due += Math.min(passed, maxSilenceMs) / speed
      // Timers fire late, so waits below a millisecond are skipped.
      return Math.max(0, Math.floor(due - performance.now()))
    },
    hold(ms) {
      due += ms
    },
  }
}
