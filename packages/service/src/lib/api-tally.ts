/** Upper bounds of the classes of response times, in seconds; the last class has no bound. */
export const ANSWER_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]

/** The response times of finished requests. */
type ResponseTimes = {
  /** Requests by class of time, see `ANSWER_SECONDS`. */
  readonly counts: readonly number[]
  /** The sum of the times, in seconds. */
  readonly seconds: number
}

/** Totals of API processes since their start, and their present state. */
export type ApiTally = {
  readonly processes: number
  /** Finished requests by `route status`. */
  readonly requests: Readonly<Record<string, number>>
  /** Response times by `route class`, such as `markets 2xx`. */
  readonly times: Readonly<Record<string, ResponseTimes>>
  readonly bytes: number
  readonly memoryBytes: number
  readonly stream: {
    readonly connections: number
    readonly subscriptions: number
    /** Connections that are too slow at present, so that rows are left out for them. */
    readonly held: number
  }
}

/** The tally of no process. */
export const NO_TALLY: ApiTally = {
  processes: 0,
  requests: {},
  times: {},
  bytes: 0,
  memoryBytes: 0,
  stream: { connections: 0, subscriptions: 0, held: 0 },
}

/** The sum of two tallies. */
export function addTallies(one: ApiTally, other: ApiTally): ApiTally {
  const requests = { ...one.requests }
  for (const [name, count] of Object.entries(other.requests)) {
    requests[name] = (requests[name] ?? 0) + count
  }
  const times = { ...one.times }
  for (const [name, more] of Object.entries(other.times)) times[name] = addTimes(times[name], more)
  return {
    processes: one.processes + other.processes,
    requests,
    times,
    bytes: one.bytes + other.bytes,
    memoryBytes: one.memoryBytes + other.memoryBytes,
    stream: {
      connections: one.stream.connections + other.stream.connections,
      subscriptions: one.stream.subscriptions + other.stream.subscriptions,
      held: one.stream.held + other.stream.held,
    },
  }
}

function addTimes(one: ResponseTimes | undefined, other: ResponseTimes): ResponseTimes {
  if (one === undefined) return other
  return {
    counts: one.counts.map((count, index) => count + other.counts[index]!),
    seconds: one.seconds + other.seconds,
  }
}

/** The totals of a process that has exited, which stay in the sum so that no counter falls. */
export function endedTally({ requests, times, bytes }: ApiTally): ApiTally {
  return { ...NO_TALLY, requests, times, bytes }
}

/** What is counted of one route. */
type RouteTally = {
  readonly statuses: Map<number, number>
  /** By the first digit of the status: the counts of times, and after them their sum in seconds. */
  readonly times: (Float64Array | undefined)[]
}

const SUM_AT = ANSWER_SECONDS.length + 1

/** Counts the finished requests of one process. */
export class RequestTally {
  readonly #routes = new Map<string, RouteTally>()
  #bytes = 0

  note(route: string, status: number, seconds: number, bytes: number): void {
    let tally = this.#routes.get(route)
    if (tally === undefined) {
      this.#routes.set(route, (tally = { statuses: new Map(), times: Array(10) }))
    }
    const { statuses, times } = tally
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const digit = Math.floor(status / 100)
    const counts = (times[digit] ??= new Float64Array(SUM_AT + 1))
    let index = 0
    while (index < ANSWER_SECONDS.length && seconds > ANSWER_SECONDS[index]!) index++
    counts[index]!++
    counts[SUM_AT]! += seconds
    this.#bytes += bytes
  }

  /** The totals so far, with the present state given by the caller. */
  read(present: Pick<ApiTally, 'memoryBytes' | 'stream'>): ApiTally {
    const requests: Record<string, number> = {}
    const times: Record<string, ResponseTimes> = {}
    for (const [route, tally] of this.#routes) {
      for (const [status, count] of tally.statuses) requests[`${route} ${status}`] = count
      for (const [digit, counts] of tally.times.entries()) {
        if (counts === undefined) continue
        const seconds = counts[SUM_AT]!
        times[`${route} ${digit}xx`] = { counts: [...counts.subarray(0, SUM_AT)], seconds }
      }
    }
    return {
      processes: 1,
      requests,
      times,
      bytes: this.#bytes,
      ...present,
    }
  }
}
