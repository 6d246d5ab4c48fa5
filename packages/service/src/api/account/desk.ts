import type { LimitState } from '../auth/limiter.ts'
import type { Plan } from '../auth/plans.ts'
import type { UsageRow } from '../auth/usage.ts'
import type { StreamPulse } from '../stream/index.ts'

/** What the recorder of this installation says of itself, where there is one. */
export type RecorderPulse = {
  readonly venues: Readonly<
    Record<
      string,
      {
        readonly state: string
        readonly detail: string
        readonly booksOpen: number
        readonly capture?: VenuePulse
      }
    >
  >
  /** From receiving a message to its rows being durable. */
  readonly lagP50Ms: number
  readonly lagP99Ms: number
  readonly isDiskFull: boolean
}

/** What is being done with one venue; counts since the recorder started. */
export type VenuePulse = {
  readonly markets: number
  readonly books: number
  readonly sockets: number
  readonly messages: number
  readonly messagesPerSecond: number
  readonly observations: number
  readonly trades: number
  readonly samples: number
  readonly gaps: number
  readonly quarantined: number
  readonly quota?: {
    readonly limit: number
    readonly windowMs: number
    readonly used: number
    readonly refused: number
  }
}

/** What account routes ask of the server that they run in. */
export interface AccountDesk {
  limits(keyId: string, plan: Plan): readonly LimitState[]
  usage(keyId: string, firstDay: number): readonly UsageRow[]
  /** Undefined where nothing is recorded by this installation. */
  recorder(): RecorderPulse | undefined
  /** The sockets of the process that answers. */
  stream(): StreamPulse
  /** The OpenAPI and AsyncAPI documents, llms.txt and the pages of the docs. */
  document(name: 'openapi' | 'asyncapi' | 'llms' | 'docs' | 'errors' | 'home'): string
}
