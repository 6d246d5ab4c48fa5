import type { CaptureLog, ConnectorStatus } from '../capture/contract.ts'
import type { Periods } from './periods.ts'

/** How the venue takes us: whether it accepts our credentials, and whether it answers. */
export interface Standing {
  /** The credentials were refused; nothing but a probe now and then is sent. */
  readonly isRefused: boolean
  /** No key or no secret is configured. */
  missing(): void
  refused(why: string, nowMs: number): void
  /** A request brought an answer. */
  answered(): void
  failed(why: string): void
  socketRefused(why: string, nowMs: number): void
  socketAccepted(): void
  mayProbe(nowMs: number): boolean
  maySocket(nowMs: number): boolean
  stop(): void
  state(
    isComplete: boolean,
    sockets: ConnectorStatus['sockets'],
  ): Pick<ConnectorStatus, 'state' | 'detail'>
}

// One failure is weather; so many in a row are an outage.
const FAILURES = 3

/** Creates the standing of a connector that has not asked yet. */
export function createStanding(log: CaptureLog, periods: Periods): Standing {
  let refusedWhy: string | undefined
  let socketWhy: string | undefined
  let failedWhy = ''
  let failures = 0
  let probeMs = -Infinity
  let socketMs = -Infinity
  let hasAnswered = false
  let hasStopped = false

  return {
    get isRefused() {
      return refusedWhy !== undefined
    },
    missing() {
      refusedWhy = 'no API key or no secret is configured'
      log.error({ venue: 'venuea' }, `venue A is not recorded: ${refusedWhy}`)
    },
    refused(why, nowMs) {
      probeMs = nowMs + periods.credentialsMs
      if (refusedWhy === undefined) {
        log.error({ venue: 'venuea', why }, 'venue A refuses the credentials; trying again slowly')
      }
      refusedWhy = why
    },
    answered() {
      if (refusedWhy !== undefined) log.info({ venue: 'venuea' }, 'venue A takes the credentials')
      refusedWhy = undefined
      failures = 0
      hasAnswered = true
    },
    failed(why) {
      failures++
      failedWhy = why
    },
    socketRefused(why, nowMs) {
      socketMs = nowMs + periods.credentialsMs
      if (socketWhy === undefined) {
        log.error({ venue: 'venuea', why }, 'venue A refuses the socket; trying again slowly')
      }
      socketWhy = why
    },
    socketAccepted() {
      socketWhy = undefined
    },
    mayProbe: (nowMs) => nowMs >= probeMs,
    maySocket: (nowMs) => refusedWhy === undefined && nowMs >= socketMs,
    stop() {
      hasStopped = true
    },
    state(isComplete, sockets) {
      if (hasStopped) return { state: 'stopped', detail: 'stopped' }
      const why = refusedWhy ?? socketWhy
      if (why !== undefined) return { state: 'no_credentials', detail: why }
      if (failures >= FAILURES) return { state: 'degraded', detail: `no answers: ${failedWhy}` }
      if (!hasAnswered || !isComplete) {
        return { state: 'starting', detail: 'reading the catalogue' }
      }
      const lost = sockets.filter(({ connected }) => !connected).length
      if (lost > 0) {
        return { state: 'degraded', detail: `${lost} of ${sockets.length} sockets not connected` }
      }
      return { state: 'recording', detail: 'books by socket and request' }
    },
  }
}
