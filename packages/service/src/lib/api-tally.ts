/** Upper bounds of the classes of response times, in seconds; the last class has no bound. */
export const ANSWER_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]

/** Totals of API processes since their start, and their present state. */
export type ApiTally = {
  readonly processes: number
  /** Finished requests by `route status`. */
  readonly requests: Readonly<Record<string, number>>
  /** Finished requests by class of time, see `ANSWER_SECONDS`. */
  readonly classes: readonly number[]
  /** The sum of response times, in seconds. */
  readonly seconds: number
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
  classes: Array.from({ length: ANSWER_SECONDS.length + 1 }, () => 0),
  seconds: 0,
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
  return {
    processes: one.processes + other.processes,
    requests,
    classes: one.classes.map((count, index) => count + other.classes[index]!),
    seconds: one.seconds + other.seconds,
    bytes: one.bytes + other.bytes,
    memoryBytes: one.memoryBytes + other.memoryBytes,
    stream: {
      connections: one.stream.connections + other.stream.connections,
      subscriptions: one.stream.subscriptions + other.stream.subscriptions,
      held: one.stream.held + other.stream.held,
    },
  }
}

/** The totals of a process that has exited, which stay in the sum so that no counter falls. */
export function endedTally({ requests, classes, seconds, bytes }: ApiTally): ApiTally {
  return { ...NO_TALLY, requests, classes, seconds, bytes }
}

/** Counts the finished requests of one process. */
export class RequestTally {
  readonly #requests = new Map<string, Map<number, number>>()
  readonly #classes = new Float64Array(ANSWER_SECONDS.length + 1)
  #seconds = 0
  #bytes = 0

  note(route: string, status: number, seconds: number, bytes: number): void {
    let statuses = this.#requests.get(route)
    if (statuses === undefined) this.#requests.set(route, (statuses = new Map()))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    let index = 0
    while (index < ANSWER_SECONDS.length && seconds > ANSWER_SECONDS[index]!) index++
    this.#classes[index]!++
    this.#seconds += seconds
    this.#bytes += bytes
  }

  /** The totals so far, with the present state given by the caller. */
  read(present: Pick<ApiTally, 'memoryBytes' | 'stream'>): ApiTally {
    const requests: Record<string, number> = {}
    for (const [route, statuses] of this.#requests) {
      for (const [status, count] of statuses) requests[`${route} ${status}`] = count
    }
    return {
      processes: 1,
      requests,
      classes: [...this.#classes],
      seconds: this.#seconds,
      bytes: this.#bytes,
      ...present,
    }
  }
}
