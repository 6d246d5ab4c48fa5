import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { createClock } from './core/clock.ts'
import { startControl, type Control } from './core/control.ts'
import type { QuotaUse } from './core/quota-meter.ts'
import { startServer, type VenueServer } from './core/server.ts'
import { openTruth, type Truth, type TruthOptions } from './core/truth.ts'
import type { UpstreamCredentials, WorldEvent } from './core/upstream.ts'
import { createFaultBox, type ActiveFault } from './faults/fault-box.ts'
import type { Injection } from './faults/fault.ts'
import type { ScheduledFault } from './faults/schedule.ts'
import { EMULATED } from './venues.ts'
import {
  createRandom,
  createWorld,
  DEFAULT_MARKETS,
  STEP_MS,
  type MarketRates,
  type SteppedWorld,
} from './world/index.ts'

/** How the three upstreams are emulated; everything has a default. */
export type EmulatorOptions = {
  /** The same seed and start give the same markets, orders and payload bytes. */
  readonly seed?: number | string
  /** Windows are so many times shorter and everything happens so many times as often; 1 to 300. */
  readonly speed?: number
  readonly venues?: readonly VenueId[]
  /** Rounds listed ahead of the open one; 2 by default. */
  readonly rounds?: number
  /** Rounds of every family that were resolved before the start; 0 by default. */
  readonly history?: number
  /** Markets open at a time: of A and C at most 6, of B 12 by default and up to 1,002. */
  readonly markets?: Readonly<Partial<Record<VenueId, number>>>
  /** How lively and eventful markets are, for all venues. */
  readonly rates?: Partial<MarketRates>
  /** Loopback ports; 0 or absent takes any. */
  readonly ports?: Readonly<Partial<Record<VenueId | 'control', number>>>
  /** The venues' clock at the start in milliseconds; the wall clock by default. */
  readonly start?: number
  readonly credentials?: Readonly<Partial<Record<VenueId, UpstreamCredentials>>>
  /** The log of the truth; kept nowhere by default. */
  readonly log?: TruthOptions
  /** Short for `log: { file }`. */
  readonly logFile?: string
  readonly faults?: readonly ScheduledFault[]
  /** So many changes a second over all markets of one venue, instead of its order flow. */
  readonly flood?: { readonly venue: VenueId; readonly perSecond: number }
}

/** Where clients connect and with what, per venue that runs. */
export type Addresses = {
  readonly venuea?: { rest: string; ws: string; apiKey: string; apiSecret: string }
  readonly venueb?: { rest: string; ws: string; keyId: string; privateKey: string }
  readonly venuec?: { gamma: string; clob: string; ws: string }
}

/** Upstreams that run until they are closed. */
export interface Emulator {
  readonly addresses: Addresses
  /** Where faults are injected by HTTP. */
  readonly control: string
  /** Begins a fault and returns its id. */
  inject(injection: Injection): string
  /** Ends a fault before its time; false when it is over. */
  end(id: string): boolean
  faults(): readonly ActiveFault[]
  /** Ids of open sockets, for faults of one connection. */
  connections(venue: VenueId): readonly string[]
  readonly truth: Truth
  readonly world: SteppedWorld
  /** What was used of every venue's quotas, by bucket. */
  quotaPeaks(): Readonly<Partial<Record<VenueId, Readonly<Record<string, QuotaUse>>>>>
  close(): Promise<void>
}

/** Per market and second at speed 1. */
export const DEFAULT_RATES: MarketRates = {
  changes: 5,
  trades: 0.3,
  pauses: 0.03,
  disputes: 0.03,
  ties: 0.02,
}

/** After a stall of the process at most this much is made up for before clients are heard again. */
const SLICE_MS = 50

/** Half a year of five-minute rounds, and more than a test waits for. */
const MAX_HISTORY = 100_000

/** Starts the upstreams on loopback. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { speed = 1, venues = VENUE_IDS, flood, history = 0 } = options
  if (!(speed >= 1 && speed <= 300)) {
    throw new PriorbookError('invalid_argument', `speed ${speed} is not between 1 and 300`)
  }
  if (!(Number.isInteger(history) && history >= 0 && history <= MAX_HISTORY)) {
    const bounds = `a whole number from 0 to ${MAX_HISTORY}`
    throw new PriorbookError('invalid_argument', `history ${history} is not ${bounds}`)
  }
  const seed = String(options.seed ?? 1)
  const start = Math.floor(options.start ?? Date.now())
  const clock = createClock(start)
  const world = createWorld({
    seed,
    start,
    speed,
    rounds: options.rounds ?? 2,
    history,
    markets: Object.fromEntries(
      venues.map((venue) => [venue, options.markets?.[venue] ?? DEFAULT_MARKETS[venue]]),
    ),
    rates: ratesOf(options),
    clock,
  })
  const truth = openTruth({
    ...(options.logFile === undefined ? {} : { file: options.logFile }),
    ...options.log,
  })
  const servers = new Map<VenueId, VenueServer>()
  const random = createRandom(`${seed}/faults`)
  const faults = createFaultBox(random, {
    begun: (fault) => effect(fault, 'begun'),
    ended: (fault) => effect(fault, 'ended'),
  })

  function effect(active: ActiveFault, state: 'begun' | 'ended'): void {
    const { struck, ...fault } = active
    const { venue } = fault.target
    truth.note({ type: 'fault', venue, state, fault, struck })
    if (fault.fault.kind === 'clock_skew') {
      world.skew(venue, state === 'begun' ? fault.fault.skewMs : 0)
    }
    if (state === 'begun') servers.get(venue)?.begin(active)
    else servers.get(venue)?.end(active)
  }

  const addresses: Record<string, Readonly<Record<string, string>>> = {}
  const upstreams = new Map(
    venues.map((venue) => {
      const keys = EMULATED[venue].keys(seed, options.credentials?.[venue])
      return [
        venue,
        { keys, upstream: EMULATED[venue].create(world, { speed, credentials: keys.upstream }) },
      ]
    }),
  )

  function onEvent(event: WorldEvent): void {
    const { venue } = event.proposition
    servers.get(venue)?.onEvent(event)
    if ((event.kind !== 'listed' && event.kind !== 'phase') || !truth.wanted) return
    const { index, phase, outcome } = event.proposition
    const keys = upstreams.get(venue)?.upstream.keys?.(event.proposition) ?? []
    const winner = outcome === undefined ? {} : { winner: outcome.winner }
    truth.note({ type: 'market', venue, index, keys, phase, ...winner })
  }

  async function openAll(): Promise<Control> {
    for (const [venue, { keys, upstream }] of upstreams) {
      const port = options.ports?.[venue] ?? 0
      const server = await startServer({ upstream, world, speed, port, faults, truth, random })
      servers.set(venue, server)
      const places = upstream.addresses?.(server.origin) ?? EMULATED[venue].addresses(server.origin)
      addresses[venue] = { ...places, ...keys.client }
    }
    const port = options.ports?.control ?? 0
    return startControl({ port, faults, addresses, quotaPeaks })
  }

  function quotaPeaks(): Partial<Record<VenueId, Readonly<Record<string, QuotaUse>>>> {
    return Object.fromEntries([...servers].map(([venue, server]) => [venue, server.quotas()]))
  }

  const control = await openAll().catch(async (error: unknown) => {
    await Promise.all([...servers.values()].map((server) => server.close()))
    truth.close()
    throw error
  })

  let advanced = start
  let owed = 0
  let timer: NodeJS.Timeout | undefined

  function turn(): void {
    const now = clock()
    const to = Math.min(now, advanced + SLICE_MS)
    for (const server of servers.values()) server.cork()
    world.advance(to, onEvent)
    if (flood !== undefined) {
      owed += (flood.perSecond * (to - advanced)) / 1000
      const count = Math.floor(owed)
      owed -= count
      world.flip(flood.venue, count, Math.floor(to), onEvent)
    }
    for (const server of servers.values()) server.uncork()
    advanced = to
    const behind = to < now
    timer = setTimeout(turn, behind ? 0 : Math.max(1, Math.min(5, STEP_MS / speed)))
  }
  turn()

  const scheduled = (options.faults ?? []).map((item) =>
    setTimeout(() => faults.begin(item), item.at),
  )

  return {
    addresses,
    control: control.origin,
    inject: (injection) => faults.begin(injection).id,
    end: (id) => faults.end(id),
    faults: () => faults.list(),
    connections: (venue) => servers.get(venue)?.connections() ?? [],
    truth,
    world,
    quotaPeaks,
    async close() {
      clearTimeout(timer)
      for (const item of scheduled) clearTimeout(item)
      faults.close()
      await Promise.all([...servers.values(), control].map((server) => server.close()))
      truth.close()
    },
  }
}

function ratesOf({ rates, flood }: EmulatorOptions): Readonly<Record<VenueId, MarketRates>> {
  const all = { ...DEFAULT_RATES, ...rates }
  const flooded = { ...all, changes: 0, trades: 0 }
  const of = (venue: VenueId): MarketRates => (flood?.venue === venue ? flooded : all)
  return { venuea: of('venuea'), venueb: of('venueb'), venuec: of('venuec') }
}
