import { connect } from 'node:net'

/** One measurement: requests to send round robin, over how many connections, for how long. */
export type LoadJob = {
  readonly host: string
  readonly port: number
  /** Whole request texts; every connection starts at another one. */
  readonly requests: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second over all connections; as many as go without it. */
  readonly rate?: number
}

/** What came back. */
export type LoadResult = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly bytes: number
  readonly statuses: Readonly<Record<string, number>>
}

const HEAD_END = Buffer.from('\r\n\r\n')
// All connections read into one buffer: a fresh one for every piece would cost more than the reading.
const PIECE = Buffer.alloc(262_144)

/**
 * Sends requests over keep-alive connections, the next one when the answer before is whole. Written on
 * bare sockets, because the load shares its cores with the server that it measures.
 */
export async function load(job: LoadJob): Promise<LoadResult> {
  const times: number[] = []
  const statuses: Record<string, number> = {}
  let bytes = 0
  let next = 0
  const start = performance.now()
  const end = start + job.seconds * 1000
  await Promise.all(Array.from({ length: job.connections }, () => run()))
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
  return {
    perSecond: times.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    bytes: bytes / Math.max(1, times.length),
    statuses,
  }

  function run(): Promise<void> {
    return new Promise((resolve, reject) => {
      let sent = 0
      const read = createReader((status, length) => {
        times.push(performance.now() - sent)
        statuses[status] = (statuses[status] ?? 0) + 1
        bytes += length
        send()
      })
      const onread = {
        buffer: PIECE,
        callback(length: number): boolean {
          read(PIECE.subarray(0, length))
          return true
        },
      }
      const socket = connect({ port: job.port, host: job.host, noDelay: true, onread })
      const send = (): void => {
        const now = performance.now()
        if (now >= end) {
          socket.destroy()
          resolve()
          return
        }
        // A request that is due counts from when it was due, so that waiting for a slow answer counts.
        const due = job.rate === undefined ? now : start + (next * 1000) / job.rate
        sent = Math.min(due, now)
        const request = job.requests[next++ % job.requests.length]!
        if (due <= now) socket.write(request)
        else {
          setTimeout(() => {
            sent = performance.now()
            socket.write(request)
          }, due - now)
        }
      }
      socket.once('connect', send)
      socket.once('error', reject)
    })
  }
}

// Answers with a content length; the body is counted and not kept.
function createReader(onAnswer: (status: string, length: number) => void): (piece: Buffer) => void {
  let head: Buffer = Buffer.alloc(0)
  let left = -1
  let length = 0
  let status = ''
  return (piece) => {
    let rest = piece
    while (rest.length > 0) {
      if (left < 0) {
        head = head.length === 0 ? rest : Buffer.concat([head, rest])
        const at = head.indexOf(HEAD_END)
        if (at < 0) {
          // The piece is read over.
          head = Buffer.from(head)
          return
        }
        const text = head.toString('latin1', 0, at)
        status = text.slice(9, 12)
        length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
        left = length
        rest = head.subarray(at + 4)
        head = Buffer.alloc(0)
      }
      const taken = Math.min(left, rest.length)
      left -= taken
      rest = rest.subarray(taken)
      if (left === 0) {
        left = -1
        onAnswer(status, length)
      }
    }
  }
}
