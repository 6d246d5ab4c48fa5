import { setTimeout as sleep } from 'node:timers/promises'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { startServer } from '../core/server.ts'
import { openTruth, type Truth, type TruthOptions } from '../core/truth.ts'
import type { Upstream, Wire, World } from '../core/upstream.ts'
import { createFaultBox } from '../faults/fault-box.ts'
import type { Injection } from '../faults/fault.ts'
import { createRandom } from '../world/index.ts'
import { readFrames } from './journal.ts'
import { readLines } from './lines.ts'
import { MANNERS } from './manners.ts'
import type { PlaybackProblem, Played, Source } from './source.ts'

/** What is played, and how. */
export type PlaybackOptions = {
  readonly venue: VenueId
  /** Recordings of venue B, `.ndjson` or `.ndjson.gz`. */
  readonly files?: readonly string[]
  /** The journal folder of a data folder; every venue. */
  readonly journal?: string
  /** So many times the recorded pace; Infinity as fast as the client reads. 1 by default. */
  readonly speed?: number
  /** A longer silence of the recording is cut to this. */
  readonly maxSilenceMs?: number
  /** Sockets of a journal go to clients of their own (in order of connecting), or all to one. */
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
  const { venue, speed = 1 } = options
  if (!(speed > 0)) throw new PriorbookError('invalid_argument', `speed ${speed} is not above 0`)
  const manners = MANNERS[venue]
  const clients = new Set<Client>()
  const problems: PlaybackProblem[] = []
  const ending = new AbortController()
  const truth = openTruth({
    ...(options.logFile === undefined ? {} : { file: options.logFile }),
    ...options.log,
  })
  let wake: () => void = () => {}
  let sent = 0

  const upstream: Upstream = {
    venue,
    quotas: {},
    answer: () => ({ status: 404, body: '{"message":"a recording has frames alone"}' }),
    accept({ path }, wire) {
      if (path !== manners.path) return { status: 404, body: '{}' }
      const client: Client = { wire, ready: manners.beginsAtOnce, gone: false, slot: undefined }
      clients.add(client)
      wake()
      return {
        onText(text) {
          for (const reply of manners.replies(text)) wire.send(reply)
          if (!manners.begins(text)) return
          client.ready = true
          wake()
        },
        onClose() {
          client.gone = true
          clients.delete(client)
          wake()
        },
      }
    },
    onEvent: () => {},
  }
  const world: World = { now: () => Date.now(), propositions: () => [], hex: () => '' }
  const random = createRandom('playback')
  const faults = createFaultBox(random, {
    begun: (fault) => server.begin(fault),
    ended: (fault) => server.end(fault),
  })
  const port = options.port ?? 0
  const server = await startServer({ upstream, world, speed: 1, port, faults, truth, random })

  /** The client of a slot, waiting for one where there is none yet. */
  async function clientOf(slot: number): Promise<Client | undefined> {
    while (!ending.signal.aborted) {
      const wanted = options.slots === 'joined' ? undefined : slot
      const all = [...clients].filter(({ ready }) => ready)
      const found =
        all.find((client) => wanted === undefined || client.slot === wanted) ??
        all.find((client) => client.slot === undefined)
      if (found !== undefined) {
        found.slot = wanted
        return found
      }
      await new Promise<void>((resolve) => (wake = resolve))
    }
    return undefined
  }

  async function run(): Promise<void> {
    const pace = createPace(speed, options.maxSilenceMs ?? Infinity)
    const fed = new Map<number, Client>()
    for await (const played of sourceOf(options, (problem) => problems.push(problem))) {
      if (ending.signal.aborted) return
      const { slot } = played
      if (played.kind === 'connected') {
        const before = fed.get(slot)
        if (before === undefined) continue
        before.wire.close(1001, 'recorded reconnect')
        clients.delete(before)
        fed.delete(slot)
        continue
      }
      let client = fed.get(slot)
      if (client === undefined || client.gone) {
        const asked = performance.now()
        client = await clientOf(slot)
        if (client === undefined) return
        fed.set(slot, client)
        pace.hold(performance.now() - asked)
      }
      const wait = pace.waitFor(played)
      if (wait > 0) await sleep(wait, undefined, { signal: ending.signal }).catch(() => {})
      else if (++unslept % YIELD_EVERY === 0) await sleep(0)
      while ((client.wire.pending?.() ?? 0) > MAX_PENDING_BYTES && !client.gone) await sleep(1)
      client.wire.send(played.text, [])
      sent++
    }
  }

  let unslept = 0
  const done = run()

  return {
    ws: `${server.origin.replace('http', 'ws')}${manners.path}`,
    truth,
    problems,
    done,
    get sent() {
      return sent
    },
    inject: (injection) => faults.begin(injection).id,
    async close() {
      ending.abort()
      wake()
      faults.close()
      await done
      await server.close()
      truth.close()
    },
  }
}

/** So many frames go out in one turn of the event loop before others are heard. */
const YIELD_EVERY = 64
/** A client that reads slowly is waited for. */
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
      // Timers fire late: below a millisecond it is time.
      return Math.max(0, Math.floor(due - performance.now()))
    },
    hold(ms) {
      due += ms
    },
  }
}
