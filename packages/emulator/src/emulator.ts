import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { startControl, type Control } from './core/control.ts'
import type { EmulatedVenue } from './core/emulated-venue.ts'
import type { QuotaUse } from './core/quota-meter.ts'
import { startServer, type VenueServer } from './core/server.ts'
import { openTruth, type Truth, type TruthOptions } from './core/truth.ts'
import type {
  Fill,
  Proposition,
  RoundProposition,
  Upstream,
  UpstreamCredentials,
  UpstreamLimits,
  WorldEvent,
} from './core/upstream.ts'
import { createFaultBox, type ActiveFault, type FaultBox } from './faults/fault-box.ts'
import type { Injection } from './faults/fault.ts'
import type { ScheduledFault } from './faults/schedule.ts'
import { EMULATED_VENUES, emulatedVenue, type Addresses } from './venues/registry.ts'
import type { BreadthPlan } from './world/breadth/breadth.ts'
import { venueMarkets, type MarketStyle } from './world/families.ts'
import type { MarketRates } from './world/market.ts'
import { createRandom, type Random } from './world/random.ts'
import { STEP_MS, SteppedWorld } from './world/world.ts'

/** How the upstreams are emulated; everything has a default. */
export type EmulatorOptions = {
  /** The same seed and start give the same markets, orders and payload bytes. */
  readonly seed?: number | string
  /** Windows are this many times shorter and events this many times as frequent; 1 to 300. */
  readonly speed?: number
  readonly venues?: readonly VenueId[]
  /** Rounds listed ahead of the open one; 2 by default. */
  readonly rounds?: number
  /** Rounds of every family that were resolved before the start; 0 by default. */
  readonly history?: number
  /** Markets open at a time: of A and C at most 6, of B 12 by default and up to 1,002. */
  readonly markets?: Readonly<Partial<Record<VenueId, number>>>
  /** Markets of many kinds that are open beside the rounds: `{ venueb: 20_000 }`. */
  readonly breadth?: Readonly<Partial<Record<VenueId, number>>>
  /** Where a venue allows finer prices, rounds have them from their middle on; false by default. */
  readonly fineTicks?: boolean
  /** Rates and shares of all markets, overriding the defaults. */
  readonly rates?: Partial<MarketRates & BreadthRates>
  readonly limits?: UpstreamLimits
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
  /** A fixed number of changes per second over all markets of one venue, instead of its order flow. */
  readonly flood?: { readonly venue: VenueId; readonly perSecond: number }
}

/** Rates of the broad world at speed 1. */
export type BreadthRates = {
  /** Orders and trades of all its markets per second, split over the venues by their markets. */
  readonly breadth: number
  /** Topics that are listed per minute and venue. */
  readonly turnover: number
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
  /** The peak use of every venue's quotas, by bucket. */
  quotaPeaks(): Readonly<Partial<Record<VenueId, Readonly<Record<string, QuotaUse>>>>>
  close(): Promise<void>
}

/** Per market and second at speed 1. */
const DEFAULT_RATES: MarketRates = {
  changes: 5,
  trades: 0.3,
  pauses: 0.03,
  disputes: 0.03,
  ties: 0.02,
}

const DEFAULT_BREADTH: BreadthRates = { breadth: 500, turnover: 6 }

/** Max emulated time per turn after a stall of the process, so that client messages are read in between. */
const SLICE_MS = 50

/** Max rounds of history: about a year of five-minute rounds. */
const MAX_HISTORY = 100_000

/** Starts the upstreams on loopback. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { speed = 1, history = 0 } = options
  if (!(speed >= 1 && speed <= 300)) {
    throw new PriorbookError('invalid_argument', `speed ${speed} is not between 1 and 300`)
  }
  if (!(Number.isInteger(history) && history >= 0 && history <= MAX_HISTORY)) {
    const bounds = `a whole number from 0 to ${MAX_HISTORY}`
    throw new PriorbookError('invalid_argument', `history ${history} is not ${bounds}`)
  }
  const emulator = new RunningEmulator(options)
  await emulator.start()
  return emulator
}

type VenueSetup = {
  readonly emulated: EmulatedVenue
  readonly client: UpstreamCredentials
  readonly upstream: Upstream
}

class RunningEmulator implements Emulator {
  readonly truth: Truth
  readonly world: SteppedWorld
  readonly addresses: Record<string, Readonly<Record<string, string>>> = {}
  private readonly options: EmulatorOptions
  private readonly speed: number
  /** Begins at `start` and runs with the wall clock, never backwards. */
  private readonly clock: () => number
  private readonly random: Random
  private readonly faultBox: FaultBox
  private readonly setups: ReadonlyMap<VenueId, VenueSetup>
  private readonly servers = new Map<VenueId, VenueServer>()
  private controlServer: Control | undefined
  private advanced: number
  /** Fractions of flood changes that are still to be made. */
  private owed = 0
  private timer: NodeJS.Timeout | undefined
  private scheduled: readonly NodeJS.Timeout[] = []

  constructor(options: EmulatorOptions) {
    const { speed = 1, venues = EMULATED_VENUES, log, logFile } = options
    const seed = String(options.seed ?? 1)
    const start = Math.floor(options.start ?? Date.now())
    this.options = options
    this.speed = speed
    this.advanced = start
    const begun = performance.now()
    this.clock = () => start + (performance.now() - begun)
    this.world = new SteppedWorld({
      seed,
      start,
      speed,
      rounds: options.rounds ?? 2,
      history: options.history ?? 0,
      venues: EMULATED_VENUES.filter((venue) => venues.includes(venue)).map((venue) =>
        venueMarkets(venue, styleOf(venue, options), options.markets?.[venue]),
      ),
      breadth: breadthOf(options, venues),
      rates: ratesOf(options),
      clock: this.clock,
    })
    this.truth = openTruth({ ...(logFile === undefined ? {} : { file: logFile }), ...log })
    this.random = createRandom(`${seed}/faults`)
    this.faultBox = createFaultBox(this.random, {
      begun: (fault) => this.effect(fault, 'begun'),
      ended: (fault) => this.effect(fault, 'ended'),
    })
    this.setups = new Map(
      venues.map((venue) => {
        const emulated = emulatedVenue(venue)
        const keys = emulated.keys(seed, options.credentials?.[venue])
        const upstream = emulated.create(this.world, {
          speed,
          credentials: keys.upstream,
          faults: this.faultBox,
          ...(options.limits === undefined ? {} : { limits: options.limits }),
        })
        return [venue, { emulated, client: keys.client, upstream }]
      }),
    )
  }

  /** Opens every port, then starts the world and the scheduled faults. */
  async start(): Promise<void> {
    try {
      await this.openAll()
    } catch (error) {
      await Promise.all([...this.servers.values()].map((server) => server.close()))
      this.truth.close()
      throw error
    }
    this.noteStanding()
    this.turn()
    this.scheduled = (this.options.faults ?? []).map((item) =>
      setTimeout(() => this.faultBox.begin(item), item.at),
    )
  }

  get control(): string {
    return this.controlServer!.origin
  }

  inject(injection: Injection): string {
    return this.faultBox.begin(injection).id
  }

  end(id: string): boolean {
    return this.faultBox.end(id)
  }

  faults(): readonly ActiveFault[] {
    return this.faultBox.list()
  }

  connections(venue: VenueId): readonly string[] {
    return this.servers.get(venue)?.connections() ?? []
  }

  quotaPeaks(): Partial<Record<VenueId, Readonly<Record<string, QuotaUse>>>> {
    return Object.fromEntries([...this.servers].map(([venue, server]) => [venue, server.quotas()]))
  }

  async close(): Promise<void> {
    clearTimeout(this.timer)
    for (const item of this.scheduled) clearTimeout(item)
    this.faultBox.close()
    const servers = [...this.servers.values(), this.controlServer!]
    await Promise.all(servers.map((server) => server.close()))
    this.truth.close()
  }

  private async openAll(): Promise<void> {
    const { world, speed, faultBox: faults, truth, random, addresses } = this
    const { ports } = this.options
    for (const [venue, { emulated, client, upstream }] of this.setups) {
      const { refusal } = emulated
      const port = ports?.[venue] ?? 0
      const parts = { upstream, refusal, world, speed, port, faults, truth, random }
      const server = await startServer(parts)
      this.servers.set(venue, server)
      addresses[venue] = { ...emulated.addresses(server.origin), ...client }
    }
    const quotaPeaks = (): ReturnType<Emulator['quotaPeaks']> => this.quotaPeaks()
    const port = ports?.control ?? 0
    this.controlServer = await startControl({ port, faults, addresses, quotaPeaks })
  }

  private effect(active: ActiveFault, state: 'begun' | 'ended'): void {
    const { struck, ...fault } = active
    const { venue } = fault.target
    this.truth.note({ type: 'fault', venue, state, fault, struck })
    if (fault.fault.kind === 'clock_skew') {
      this.world.skew(venue, state === 'begun' ? fault.fault.skewMs : 0)
    }
    if (state === 'begun') this.servers.get(venue)?.begin(active)
    else this.servers.get(venue)?.end(active)
  }

  private readonly onEvent = (event: WorldEvent): void => {
    const { venue } = event.proposition
    this.servers.get(venue)?.onEvent(event)
    if (event.kind === 'listed' || event.kind === 'phase') this.noteMarket(event.proposition)
    if (event.kind === 'book' && event.fill !== undefined) this.noteFill(event, event.fill)
  }

  private noteFill({ proposition, at: time }: WorldEvent, fill: Fill): void {
    if (!this.truth.wanted) return
    const { venue } = proposition
    const keys = this.setups.get(venue)?.upstream.keys(proposition) ?? []
    this.truth.note({ type: 'fill', venue, keys, time, fill })
  }

  /** Logs the markets that no event announces, because they were open before the start. */
  private noteStanding(): void {
    for (const { venue } of this.world.breadths) {
      for (const proposition of this.world.propositions(venue)) {
        if (proposition.topic !== undefined) this.noteMarket(proposition)
      }
    }
  }

  private noteMarket(proposition: Proposition): void {
    if (!this.truth.wanted) return
    const { venue, index, phase, outcome } = proposition
    const keys = this.setups.get(venue)?.upstream.keys(proposition) ?? []
    const winner = outcome === undefined ? {} : { winner: outcome.winner }
    const round = proposition.topic === undefined ? { round: roundOf(proposition) } : {}
    this.truth.note({ type: 'market', venue, index, keys, phase, ...winner, ...round })
  }

  /** Moves the world up to now, one slice at a time, and schedules the next turn. */
  private turn(): void {
    const { world, onEvent } = this
    const { flood } = this.options
    const now = this.clock()
    const to = Math.min(now, this.advanced + SLICE_MS)
    for (const server of this.servers.values()) server.cork()
    world.advance(to, onEvent, (timeOf) => {
      for (const [venue, server] of this.servers) server.onStep(timeOf(venue))
    })
    if (flood !== undefined) {
      this.owed += (flood.perSecond * (to - this.advanced)) / 1000
      const count = Math.floor(this.owed)
      this.owed -= count
      world.flip(flood.venue, count, Math.floor(to), onEvent)
    }
    for (const server of this.servers.values()) server.uncork()
    this.advanced = to
    const isBehind = to < now
    const delayMs = isBehind ? 0 : Math.max(1, Math.min(5, STEP_MS / this.speed))
    this.timer = setTimeout(() => this.turn(), delayMs)
  }
}

function styleOf(venue: VenueId, { fineTicks = false }: EmulatorOptions): MarketStyle {
  const { style, finestGrain } = emulatedVenue(venue)
  return fineTicks && finestGrain !== undefined ? { ...style, finestGrain } : style
}

function breadthOf(options: EmulatorOptions, venues: readonly VenueId[]): readonly BreadthPlan[] {
  const { breadth = {}, rates } = options
  const { breadth: rate, turnover } = { ...DEFAULT_BREADTH, ...rates }
  const wanted = venues.filter((venue) => (breadth[venue] ?? 0) !== 0)
  const all = wanted.reduce((sum, venue) => sum + breadth[venue]!, 0)
  return wanted.map((venue) => {
    const markets = breadth[venue]!
    const share = (rate * markets) / all
    return { venue, style: emulatedVenue(venue).style, markets, rate: share, turnover }
  })
}

function ratesOf({ rates, flood }: EmulatorOptions): (venue: VenueId) => MarketRates {
  const all = { ...DEFAULT_RATES, ...rates }
  const flooded = { ...all, changes: 0, trades: 0 }
  return (venue) => (flood?.venue === venue ? flooded : all)
}

// The same round has the same values at every venue.
function roundOf(round: RoundProposition) {
  const { asset, window, openTime, closeTime, strike, startPrice, averageSeconds, outcome } = round
  return {
    asset,
    window,
    opens: openTime,
    closes: closeTime,
    ...(strike !== undefined && { strike }),
    ...(startPrice !== '' && { start_price: startPrice }),
    ...(outcome !== undefined && { end_price: outcome.endPrice }),
    ...(averageSeconds !== undefined && { average_seconds: averageSeconds }),
  }
}
